import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  findDesktop,
  installationFolder,
  lockSha256,
  noteFileOf,
  REQUIREMENTS_LOCK,
  SERVER_VERSION,
} from '#local/desktop/installation';
import { setUpDesktop, type SetUpOptions } from '#local/desktop/set-up';
import { tier } from '#test/runner/tier';

let folder: string;
beforeEach(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-installation-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** What a set-up leaves when it has installed everything and tried nothing yet. */
function writeInstalled(overrides: Readonly<Record<string, unknown>> = {}): void {
  const note = { server: SERVER_VERSION, lockSha256: lockSha256(), pythonVersion: '3.12.1', pythonFolder: null };
  writeFileSync(noteFileOf(folder, 'installed'), JSON.stringify({ ...note, ...overrides }));
  mkdirSync(path.join(folder, 'venv/bin'), { recursive: true });
  if (!existsSync(path.join(folder, 'venv/bin/python'))) symlinkSync('/bin/true', path.join(folder, 'venv/bin/python'));
}

describe('the requirements', () => {
  it('name exactly one version of everything, with hashes, and the server that is pinned', () => {
    const lines = readFileSync(REQUIREMENTS_LOCK, 'utf8').split('\n');
    const named = lines.filter((line) => /^[a-z]/u.test(line));
    expect(named).toContain(`cua-computer-server==${SERVER_VERSION} \\`);
    expect(named.length).toBeGreaterThan(30);
    for (const line of named) expect(line).toMatch(/^[a-z0-9-]+==[0-9][^ ]*(?: ; [^\\]+)? \\$/u);
    expect(lines.filter((line) => line.includes('--hash=sha256:')).length).toBeGreaterThan(named.length);
    expect(installationFolder()).toContain(`${SERVER_VERSION}-${lockSha256().slice(0, 8)}`);
  });
});

describe('what is lacking for desktops', () => {
  it('is a set-up, one that was finished, one of these requirements, a Python that runs, or programs', () => {
    const reason = (): string | undefined => {
      const found = findDesktop(folder, 'installed');
      return found.isThere ? undefined : found.reason;
    };
    expect(reason()).toBe(`${folder} holds no finished set-up`);
    writeInstalled({ lockSha256: 'other' });
    expect(reason()).toBe(`${folder} was made from other requirements`);
    writeInstalled();
    vi.stubEnv('PATH', '/nonexistent');
    expect(reason()).toMatch(/^not on PATH: Xvfb, xkbcomp, openbox, xdotool/u);
    rmSync(path.join(folder, 'venv'), { recursive: true });
    expect(reason()).toContain('does not run: the Python it was made with is gone');
    const found = findDesktop(folder);
    expect(found).toEqual({ isThere: false, reason: `${folder} holds no finished set-up` });
  });
});

tier('desktop')('a set-up', () => {
  const options = (overrides: Partial<SetUpOptions> = {}): SetUpOptions & { readonly lines: string[] } => {
    const lines: string[] = [];
    const check = async (): Promise<string> => 'it started';
    return { folder, isDry: false, tell: (line) => void lines.push(line), check, lines, ...overrides };
  };

  it('that goes on where one was broken off installs nothing twice and ends with a real start', async () => {
    writeInstalled();
    const given = options();
    const report = await setUpDesktop(given);
    expect(report.steps.map(({ name, state }) => `${name}: ${state}`)).toEqual([
      'packages: was there',
      'python: was there',
      'environment: was there',
      'check: done',
    ]);
    expect(given.lines).toHaveLength(4);
    expect(findDesktop(folder)).toMatchObject({ isThere: true, installation: { folder, server: SERVER_VERSION } });
  });

  it('is not finished, and no longer counts, when the start fails', async () => {
    writeInstalled();
    await setUpDesktop(options());
    const failing = options({ check: () => Promise.reject(new Error('its screenshot is black')) });
    await expect(setUpDesktop(failing)).rejects.toThrow('its screenshot is black');
    expect(findDesktop(folder)).toMatchObject({ isThere: false });
  });

  it('does nothing when it only says what it would do', async () => {
    const check = vi.fn(async () => 'it started');
    const { steps } = await setUpDesktop(options({ isDry: true, check }));
    expect(steps.map(({ state }) => state)).toEqual(['was there', 'was there', 'would do', 'would do']);
    expect(steps[2]?.detail).toBe(`install cua-computer-server ${SERVER_VERSION} into ${folder}`);
    expect(check).not.toHaveBeenCalled();
    expect(existsSync(noteFileOf(folder, 'ready'))).toBe(false);
  });

  it('waits for nobody: another that runs is named', async () => {
    writeInstalled();
    let inner: unknown;
    const check = async (): Promise<string> => {
      inner = await setUpDesktop(options()).catch((error: unknown) => error);
      return 'it started';
    };
    await setUpDesktop(options({ check }));
    expect(inner).toMatchObject({ name: 'SetUpError', message: expect.stringContaining('another set-up') as string });
  });
});
