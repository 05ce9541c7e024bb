import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findPython, isOnlyPython } from '#local/desktop/python';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'examhall-python-'));
  mkdirSync(path.join(root, 'bin'));
  vi.stubEnv('PATH', path.join(root, 'bin'));
  vi.stubEnv('PYENV_ROOT', path.join(root, 'pyenv'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

/** A program that answers like a Python of this version. */
function writePython(
  file: string,
  version: readonly number[],
  overrides: Readonly<Record<string, unknown>> = {},
): void {
  const program = path.join(root, file);
  const answer = { program, version, prefix: '/usr', venv: true, ssl: true, is64: true, ...overrides };
  mkdirSync(path.dirname(program), { recursive: true });
  writeFileSync(program, `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`);
  chmodSync(program, 0o755);
}

describe('the Python that the server is installed with', () => {
  it('is 3.12 before 3.13, and the newest of pyenv after those', async () => {
    writePython('pyenv/versions/3.12.3/bin/python', [3, 12, 3]);
    writePython('pyenv/versions/3.12.11/bin/python', [3, 12, 11]);
    writePython('pyenv/versions/3.13.2/bin/python', [3, 13, 2]);
    expect(await findPython()).toMatchObject({ version: '3.12.11', isOlderThanDeclared: false });
    writePython('bin/python3.13', [3, 13, 0]);
    expect(await findPython()).toMatchObject({ version: '3.13.0' });
    writePython('bin/python3.12', [3, 12, 0]);
    expect(await findPython()).toMatchObject({ version: '3.12.0', folder: null, canMakeEnvironments: true });
  });

  it('is not one that only says that it is not there, has no TLS, is too old or too new', async () => {
    writeFileSync(
      path.join(root, 'bin/python3.12'),
      '#!/bin/sh\necho "pyenv: python3.12: command not found" >&2\nexit 127\n',
    );
    chmodSync(path.join(root, 'bin/python3.12'), 0o755);
    writePython('bin/python3.13', [3, 13, 0], { ssl: false });
    writePython('pyenv/versions/3.12.1/bin/python', [3, 14, 0]);
    writePython('pyenv/versions/3.12.0/bin/python', [3, 10, 9]);
    writePython('pyenv/versions/3.13.1/bin/python', [3, 13, 1]);
    expect(await findPython()).toMatchObject({ version: '3.13.1' });
  });

  it('says where it lives when that is none of the system’s folders', async () => {
    writePython('bin/python3.12', [3, 12, 1], { prefix: '/home/me/.pyenv/versions/3.12.1', venv: false });
    expect(await findPython()).toMatchObject({ folder: '/home/me/.pyenv/versions/3.12.1', canMakeEnvironments: false });
  });

  it('lives, for root, in a folder that holds nothing else: agents are shown it whole', async () => {
    expect(isOnlyPython('/root/.pyenv/versions/3.12.1')).toBe(true);
    expect(isOnlyPython('/root/.local/share/uv/python/cpython-3.13.2-linux-x86_64-gnu')).toBe(true);
    for (const folder of ['/root', '/root/.local', '/home/me/versions', '/opt', '/srv/3.12'])
      expect(isOnlyPython(folder)).toBe(false);
  });
});
