import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { pythonVenv } from '#test/emulators/python-venv';

const root = mkdtempSync(path.join(tmpdir(), 'python-venv-'));
const requirements = path.join(root, 'requirements.txt');

afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

describe('a Python environment of the tests', () => {
  it("lies in the user's cache, apart for each content of its requirements", () => {
    vi.stubEnv('XDG_CACHE_HOME', root);
    writeFileSync(requirements, 'one==1\n');
    const one = pythonVenv('tools', requirements);
    writeFileSync(requirements, 'one==2\n');
    const other = pythonVenv('tools', requirements);
    expect(path.dirname(one.folder)).toBe(path.join(root, 'examhall'));
    expect(one.folder).not.toBe(other.folder);
    expect(one.program('tool')).toBe(path.join(one.folder, 'bin', 'tool'));
  });

  it('lacks what an installation that was broken off, or a Python that is gone, has left', () => {
    vi.stubEnv('XDG_CACHE_HOME', root);
    writeFileSync(requirements, 'three==3\n');
    const venv = pythonVenv('tools', requirements);
    expect(venv.lacking()).toBe(`no complete ${venv.folder}`);
    mkdirSync(path.join(venv.folder, 'bin'), { recursive: true });
    writeFileSync(venv.program('python'), '');
    expect(venv.lacking()).toBe(`no complete ${venv.folder}`);
    writeFileSync(path.join(venv.folder, 'ready'), '');
    expect(venv.lacking()).toBeNull();
    rmSync(venv.program('python'));
    expect(venv.lacking()).toBe(`the Python of ${venv.folder} is gone`);
  });
});
