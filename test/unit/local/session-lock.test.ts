import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SessionBusyError, takeSessionLock } from '#local/session-lock';

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'session-lock-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const lockFile = (): string => path.join(folder, 'lock.json');
const write = (content: unknown): void =>
  writeFileSync(lockFile(), typeof content === 'string' ? content : JSON.stringify(content));

/** A process that is alive until the test ends. */
function sleeper(): number {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' });
  children.push(child);
  return child.pid ?? 0;
}

describe('the lock of an experiment', () => {
  it('is taken once, and free after its release', () => {
    const release = takeSessionLock(folder);
    expect(() => takeSessionLock(folder)).toThrow(SessionBusyError);
    expect(() => takeSessionLock(folder)).toThrow(`process ${String(process.pid)} is running this experiment`);
    release();
    expect(readdirSync(folder)).toEqual([]);
    takeSessionLock(folder)();
  });

  it('makes its folder', () => {
    const release = takeSessionLock(path.join(folder, 'a', 'b'));
    expect(existsSync(path.join(folder, 'a', 'b', 'lock.json'))).toBe(true);
    release();
  });

  it('of a living process is respected', () => {
    write({ pid: sleeper(), startTicks: null });
    expect(() => takeSessionLock(folder)).toThrow(SessionBusyError);
    expect(readdirSync(folder)).toEqual(['lock.json']);
  });

  it('of a dead process is taken over', () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    write({ pid, startTicks: null });
    const release = takeSessionLock(folder);
    expect(JSON.parse(readFileSync(lockFile(), 'utf8'))).toMatchObject({ pid: process.pid });
    expect(readdirSync(folder)).toEqual(['lock.json']);
    release();
  });

  it('of a process whose number another one has now is taken over', () => {
    write({ pid: sleeper(), startTicks: '1' });
    takeSessionLock(folder)();
  });

  it.each(['', '{', '[]', '{"pid":"x"}', 'null'])('that is broken (%j) is taken over', (content) => {
    write(content);
    takeSessionLock(folder)();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that somebody else holds by now is left alone by a late release', () => {
    const release = takeSessionLock(folder);
    write({ pid: sleeper(), startTicks: null });
    release();
    expect(existsSync(lockFile())).toBe(true);
  });

  it('of a dead process goes to one of many that want it at once', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    write({ pid, startTicks: null });
    const script = `
      import { takeSessionLock } from '#local/session-lock';
      try { takeSessionLock(process.argv[1]); console.log('taken'); } catch (error) { console.log(error.name); }
      process.stdin.resume();
    `;
    const said = Array.from({ length: 6 }, async () => {
      const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script, folder], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      children.push(child);
      for await (const chunk of child.stdout) return String(chunk).trim();
      return 'nothing';
    });
    expect((await Promise.all(said)).toSorted()).toEqual([
      ...Array.from({ length: 5 }, () => 'SessionBusyError'),
      'taken',
    ]);
  });
});
