import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StopReport } from '#contracts/guest';
import { killGroup, pidsOfGroup } from './job-cgroup.ts';
import type { LaunchNote } from './job-folder.ts';
import type { ProcessTable } from './process-table.ts';
import type { ProcessTree } from './process-tree.ts';
import { isSubordinateOf } from './subordinate-users.ts';
import { taskkillArgv } from './windows.ts';
import { startedSince } from './windows-session-protocol.ts';

/** What has to be dead. Each part that is given is killed and looked for. */
export interface Quarry {
  /** The account's own user; see `huntableUid`. */
  readonly uid: number | null;
  readonly launch: LaunchNote | null;
  readonly tree: ProcessTree | null;
}

/** Scans in a row that must find nothing: a process may be born behind the first one's back. */
const QUIET_SCANS = 2;

/** The uid, if killing all its processes cannot hit anybody but the agent: we are root and it is neither root nor us. */
export function huntableUid(uid: number | null | undefined): number | null {
  const own = process.getuid?.();
  return uid === null || uid === undefined || uid === 0 || own !== 0 ? null : uid;
}

/** Pids of the quarry that live now. */
export function survivorsOf(quarry: Quarry, table: ProcessTable): ReadonlySet<number> {
  const found = new Set<number>();
  if (quarry.uid !== null) for (const row of table.ofUser(quarry.uid, isSubordinateOf(quarry.uid))) found.add(row.pid);
  const { launch } = quarry;
  if (launch !== null) {
    if (table.isAlive(launch.launcher)) found.add(launch.launcher.pid);
    for (const pid of namespacePids(launch, table)) found.add(pid);
    for (const pid of sessionPids(launch, table)) found.add(pid);
    if (launch.group !== undefined) for (const pid of pidsOfGroup(launch.group)) found.add(pid);
  }
  if (quarry.tree !== null) for (const row of quarry.tree.living(table)) found.add(row.pid);
  found.delete(process.pid);
  found.delete(1);
  return found;
}

function sessionPids({ session }: LaunchNote, table: ProcessTable): number[] {
  if (session === undefined) return [];
  return startedSince(table.ofAccount(session.account), session.since).map(({ pid }) => pid);
}

/** A namespace's init dies last (the kernel sees to it), so when that is gone there is nothing to look for. */
function namespacePids(note: LaunchNote, table: ProcessTable): number[] {
  const { namespace } = note;
  if (namespace === null || !table.isAlive(namespace.init)) return [];
  return [namespace.init.pid, ...table.ofNamespace(namespace.pidNamespace)];
}

/**
 * Asks nicely: SIGTERM to the agent's processes, and time to act on it. Returns early when none is left, and at once on Windows,
 * where nothing can be asked.
 */
export async function askToEnd(quarry: Quarry, table: ProcessTable, graceSeconds: number): Promise<void> {
  if (process.platform === 'win32') return;
  const spared = spareOf(quarry, table);
  const until = Date.now() + graceSeconds * 1000;
  for (const pid of survivorsOf(quarry, table)) if (!spared(pid)) signal(pid, 'SIGTERM');
  while (Date.now() < until) {
    const left = [...survivorsOf(quarry, table)].filter((pid) => !spared(pid));
    if (left.length === 0) return;
    await sleep(25);
  }
}

/** The walls themselves (their launcher and init) go last: everything falls with them at once. */
function spareOf(quarry: Quarry, table: ProcessTable): (pid: number) => boolean {
  const { launch, uid } = quarry;
  if (launch === null || launch.namespace === null) return () => false;
  return (pid) =>
    pid === launch.launcher.pid ||
    pid === launch.namespace?.init.pid ||
    (uid !== null && table.row(pid)?.uids.includes(uid) === false);
}

/** Kills until nothing is left or the time is over, then says what was found. */
export async function endAll(quarry: Quarry, table: ProcessTable, limitSeconds: number): Promise<StopReport> {
  const until = Date.now() + limitSeconds * 1000;
  let quiet = 0;
  let survivors = survivorsOf(quarry, table);
  for (let round = 0; ; round += 1) {
    if (survivors.size === 0) {
      quiet += 1;
      if (quiet >= QUIET_SCANS) return { confirmedDead: true, survivors: 0 };
    } else {
      quiet = 0;
      if (Date.now() >= until) return { confirmedDead: false, survivors: survivors.size };
      await killOnce(quarry, table, survivors);
    }
    await sleep(Math.min(5 * (round + 1), 100));
    survivors = survivorsOf(quarry, table);
  }
}

/**
 * A namespace is ended by its init alone, which takes the rest with it and leaves its launcher to clear it away; a launcher
 * without an init is left over and killed itself.
 */
async function killOnce(quarry: Quarry, table: ProcessTable, pids: ReadonlySet<number>): Promise<void> {
  if (quarry.uid !== null) for (const uid of usersOf(quarry.uid, table)) await killEveryProcessOf(uid);
  const group = quarry.launch?.group;
  if (group !== undefined) killGroup(group);
  const init = quarry.launch?.namespace?.init;
  if (init !== undefined && table.isAlive(init)) signal(init.pid, 'SIGKILL');
  else for (const pid of pids) signal(pid, 'SIGKILL');
}

/** The user and those below it that have processes now. */
function usersOf(uid: number, table: ProcessTable): ReadonlySet<number> {
  const isBelow = isSubordinateOf(uid);
  return new Set([uid, ...table.ofUser(uid, isBelow).flatMap(({ uids }) => uids.filter(isBelow))]);
}

/**
 * One kill(-1) as that user: the kernel signals all its processes under a lock that forks wait for, so a process that
 * forks without end cannot outrun it. `setpriv` and `kill` are the util-linux and shell ones.
 */
async function killEveryProcessOf(uid: number): Promise<void> {
  if (process.platform !== 'linux') return;
  const child = spawn('/bin/sh', ['-c', 'kill -9 -1'], {
    uid,
    gid: uid,
    cwd: '/',
    env: {},
    stdio: 'ignore',
    detached: true,
  });
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

/** Sends a signal; a process that has just ended is no error. On Windows only a kill, of the whole tree, means anything. */
export function signal(pid: number, name: NodeJS.Signals): void {
  if (process.platform === 'win32') {
    const [program = '', ...args] = taskkillArgv(pid);
    if (name === 'SIGKILL') spawn(program, args, { stdio: 'ignore' }).on('error', () => undefined);
    return;
  }
  try {
    process.kill(pid, name);
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
