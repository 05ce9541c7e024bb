import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { waitFor } from '#guest/job-control';
import { JobFolder } from '#guest/job-folder';
import { ProcessTable } from '#guest/process-table';
import { ProcessTree, treeOfLaunch } from '#guest/process-tree';
import { LISTING_END } from '#guest/windows';

/** As Windows tells it: the pid of a parent that may be gone, and the start as a file time. */
type Listed = readonly [pid: number, parentPid: number, startedAt: number];

let folder: string;
let child: ChildProcess;
let pid = 0;
beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-win-'));
  vi.stubEnv('PATH', `${folder}${path.delimiter}${process.env['PATH'] ?? ''}`);
  child = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(child, 'spawn');
  pid = child.pid ?? 0;
});
afterEach(() => {
  child.kill('SIGKILL');
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Has `powershell.exe` list these processes from now on, and say so each time. */
function machineOf(listed: readonly Listed[], seconds = 0): void {
  const lines = [...listed.map((row) => row.join('\t')), LISTING_END].map((line) => `${line}\n`).join('');
  writeFileSync(path.join(folder, 'listing'), lines);
  const script = `#!/bin/sh\necho x >>'${folder}/asked'\ncat >/dev/null\nsleep ${String(seconds)}\ncat '${folder}/listing'\n`;
  writeFileSync(path.join(folder, 'powershell.exe'), script, { mode: 0o755 });
}

function asked(): number {
  const file = path.join(folder, 'asked');
  return existsSync(file) ? readFileSync(file, 'utf8').length / 2 : 0;
}

const windows = (): ProcessTable => new ProcessTable(path.join(folder, 'no-proc'), 'win32');

function runningJob(): JobFolder {
  mkdirSync(path.join(folder, 'jobs', 'j'), { recursive: true });
  const note = { pid, startedAt: '100', bootId: '', startedAtIso: '2026-11-30T10:00:00.000Z' };
  writeFileSync(path.join(folder, 'jobs', 'j', 'supervisor.pid'), JSON.stringify(note));
  return new JobFolder(path.join(folder, 'jobs'), 'j');
}

describe('a look at the processes of Windows takes a program and seconds', () => {
  it('is taken once by a wait of many looks, which sees at once that a supervisor is gone', async () => {
    machineOf([[pid, 1, 100]]);
    const [table, job] = [windows(), runningJob()];
    expect(await waitFor(job, table, { timeoutSeconds: 3 })).toBeUndefined();
    expect(asked()).toBe(1);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(job.status(table)).toEqual({ state: 'unknown' });
    expect(asked()).toBe(1);
  });

  it('is taken again after half a minute, and then sees that another process has the pid', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      machineOf([[pid, 1, 100]]);
      const [table, job] = [windows(), runningJob()];
      expect(job.status(table).state).toBe('running');
      machineOf([[pid, 1, 101]]);
      vi.advanceTimersByTime(29_000);
      expect(job.status(table).state).toBe('running');
      vi.advanceTimersByTime(2000);
      expect(job.status(table).state).toBe('unknown');
      expect(asked()).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is taken each time where something is killed for what it shows', () => {
    machineOf([[pid, 1, 100]]);
    const [table, identity] = [windows(), { pid, startedAt: '100', bootId: '' }];
    expect([table.isAlive(identity), table.isAlive(identity)]).toEqual([true, true]);
    expect(asked()).toBe(2);
    machineOf([[pid, 1, 101]]);
    expect(table.isAlive(identity)).toBe(false);
  });

  it('is not taken for a pid that nobody has', () => {
    machineOf([[0, 0, 0]]);
    expect(windows().isAlive({ pid: 0, startedAt: '', bootId: '' })).toBe(false);
    expect(windows().isAlive({ pid: 2 ** 30, startedAt: '1', bootId: '' })).toBe(false);
    expect(asked()).toBe(0);
  });

  it('is taken beside other work while a tree is followed, and seldom', async () => {
    machineOf([[pid, 1, 100]], 1);
    const [table, tree] = [windows(), new ProcessTree(pid)];
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 20);
    const stop = tree.follow(table);
    await sleep(1800);
    stop();
    clearInterval(ticking);
    expect(asked()).toBe(1);
    expect(ticks).toBeGreaterThan(20);
  });
});

describe('the processes of a command of Windows', () => {
  it('are those that it began, and none that is older than what it names as its parent', () => {
    const listed: Listed[] = [
      [pid, 4, 100],
      [7001, pid, 110],
      [7002, 7001, 120],
      [7003, pid, 90],
      [4, 0, 1],
    ];
    machineOf([[0, 0, 0], ...listed]);
    const found = new ProcessTree(pid).living(windows()).map((row) => row.pid);
    expect(found).toEqual([pid, 7001, 7002]);
  });

  it('are none where the command is nobody’s: everything on a machine descends from the process without a pid', () => {
    machineOf([
      [0, 0, 0],
      [4, 0, 1],
      [pid, 4, 100],
    ]);
    expect(new ProcessTree(0).living(windows())).toEqual([]);
  });

  it('are not followed where the account’s session runs it, whose processes are found by the account', () => {
    const launcher = { pid, startedAt: '100', bootId: '' };
    expect(treeOfLaunch({ launcher, namespace: null, session: { account: 'User', since: '1' } })).toBeNull();
    expect(treeOfLaunch({ launcher, namespace: null })).toBeInstanceOf(ProcessTree);
  });
});
