import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parsePs, ProcessTable } from '#guest/process-table';
import { isSubordinateOf } from '#guest/subordinate-users';

interface FakeProcess {
  readonly pid: number;
  readonly name?: string;
  readonly state?: string;
  readonly uids?: string;
  readonly startedAt?: string;
  readonly namespace?: string;
  readonly threads?: readonly string[];
}

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(path.join(os.tmpdir(), 'examhall-proc-'));
  mkdirSync(path.join(proc, 'sys/kernel/random'), { recursive: true });
  writeFileSync(path.join(proc, 'sys/kernel/random/boot_id'), 'boot-1\n');
  add({ pid: 1 });
});
afterEach(() => rmSync(proc, { recursive: true, force: true }));

function stat(pid: number, name: string, state: string, startedAt: string): string {
  const rest = Array.from({ length: 30 }, (_, index) => (index === 15 ? startedAt : '0'));
  return `${pid} (${name}) ${state} 1 ${pid} ${pid} ${rest.join(' ')}\n`;
}

function add({
  pid,
  name = 'sh',
  state = 'S',
  uids = '0 0 0 0',
  startedAt = '100',
  namespace,
  threads = [],
}: FakeProcess): void {
  const folder = path.join(proc, String(pid));
  mkdirSync(path.join(folder, 'ns'), { recursive: true });
  writeFileSync(path.join(folder, 'stat'), stat(pid, name, state, startedAt));
  writeFileSync(path.join(folder, 'status'), `Name:\t${name}\nUid:\t${uids.replaceAll(' ', '\t')}\n`);
  if (namespace !== undefined) symlinkSync(namespace, path.join(folder, 'ns/pid'));
  for (const [index, threadState] of threads.entries()) {
    mkdirSync(path.join(folder, 'task', String(pid + index)), { recursive: true });
    writeFileSync(
      path.join(folder, 'task', String(pid + index), 'stat'),
      stat(pid + index, name, threadState, startedAt),
    );
  }
}

describe('the process table', () => {
  it('finds a user in any of the four places', () => {
    add({ pid: 10, uids: '7 7 7 7' });
    add({ pid: 11, uids: '0 7 0 7' });
    add({ pid: 12, uids: '0 0 7 0' });
    add({ pid: 13, uids: '8 8 8 8' });
    expect(new ProcessTable(proc).ofUser(7).map((row) => row.pid)).toEqual([10, 11, 12]);
  });

  it('finds the users below one, whom it may take for processes of its own, and no account of the machine', () => {
    writeFileSync(path.join(proc, 'passwd'), 'root:x:0:0::/root:/bin/sh\nagent:x:7:7::/home/agent:/bin/sh\n');
    writeFileSync(path.join(proc, 'subuid'), 'agent:100000:10\n7:200000:1\nother:300000:10\nagent:1:5000\nagent:x\n');
    const cases = [
      ...[99_999, 100_010, 200_001, 300_000, 0, 33, 4999].map((uid) => [uid, false] as const),
      ...[100_000, 100_009, 200_000].map((uid) => [uid, true] as const),
    ];
    for (const [uid, isBelow] of cases) expect([uid, isSubordinateOf(7, proc)(uid)]).toEqual([uid, isBelow]);
    expect(isSubordinateOf(7, path.join(proc, 'nowhere'))(100_000)).toBe(false);
    add({ pid: 10, uids: '7 7 7 7' });
    add({ pid: 11, uids: '100000 100000 100000 100000' });
    add({ pid: 12, uids: '300000 300000 300000 300000' });
    expect(new ProcessTable(proc).ofUser(7, isSubordinateOf(7, proc)).map((row) => row.pid)).toEqual([10, 11]);
  });

  it('reads names that imitate the fields after them', () => {
    add({ pid: 10, name: ') S 1 1 1 (', uids: '7 7 7 7', startedAt: '4711' });
    expect(new ProcessTable(proc).row(10)).toMatchObject({ parentPid: 1, groupId: 10, startedAt: '4711' });
  });

  it('takes a zombie for dead, but not one whose other threads run on', () => {
    add({ pid: 10, state: 'Z', uids: '7 7 7 7', threads: ['Z'] });
    add({ pid: 20, state: 'Z', uids: '7 7 7 7', threads: ['Z', 'R'] });
    expect(new ProcessTable(proc).ofUser(7).map((row) => row.pid)).toEqual([20]);
  });

  it('tells a process from a later one with its pid, and from one before a restart', () => {
    add({ pid: 10, startedAt: '100' });
    const table = new ProcessTable(proc);
    const identity = table.identityOf(10);
    if (identity === undefined) throw new Error('no identity');
    expect(table.isAlive(identity)).toBe(true);
    expect(table.isAlive({ ...identity, startedAt: '99' })).toBe(false);
    expect(table.isAlive({ ...identity, bootId: 'boot-0' })).toBe(false);
    expect(table.identityOf(11)).toBeUndefined();
  });

  it('lists the living processes of a PID namespace', () => {
    add({ pid: 10, namespace: 'pid:[42]' });
    add({ pid: 11, namespace: 'pid:[42]', state: 'Z' });
    add({ pid: 12, namespace: 'pid:[43]' });
    expect(new ProcessTable(proc).ofNamespace('pid:[42]')).toEqual([10]);
  });

  it('reads the table of ps where there is no /proc', () => {
    const text =
      '    1     0     1     0 Ss   Mon Nov 30 02:09:55 2026\n  501     1   501   777 Z    Mon Nov 30 02:10:00 2026\n  502     1   501   777 S+   Mon Nov 30 02:10:01 2026\n';
    expect(parsePs(text)).toEqual([
      { pid: 1, parentPid: 0, groupId: 1, sessionId: 1, startedAt: 'Mon Nov 30 02:09:55 2026', uids: [0] },
      { pid: 502, parentPid: 1, groupId: 501, sessionId: 501, startedAt: 'Mon Nov 30 02:10:01 2026', uids: [777] },
    ]);
    expect(new ProcessTable('/no/proc').row(process.pid)).toMatchObject({ pid: process.pid });
  });
});
