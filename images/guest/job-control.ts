import { existsSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobResult, JobStatus, StopReport } from '#contracts/guest';
import { endAccount } from './end-account.ts';
import { endAll, huntableUid, signal, survivorsOf, type Quarry } from './end-processes.ts';
import { buildResult, JobFolder } from './job-folder.ts';
import { isJobId, JobInputError } from './job-input.ts';
import { treeOfLaunch, treeOfNote } from './process-tree.ts';
import type { ProcessTable } from './process-table.ts';
import { closeSpool, WINDOWS_SESSION } from './windows-console.ts';

/** A supervisor that is asked to stop needs its grace and its own confirmation; after that it is killed. */
const SUPERVISOR_LIMIT_SECONDS = 10;
/** How long `stop` goes on killing before it reports survivors. */
const STOP_LIMIT_SECONDS = 60;
const POLL_MS = 500;
const STOP_FILE = '.stop';
const NOBODY: Quarry = { uid: null, launch: null, tree: null };

/** Where a job stands. One whose supervisor is gone without a result gets the result `runner-lost` here. */
export function statusOf(folder: JobFolder, table: ProcessTable): JobStatus {
  const status = folder.status(table);
  if (status.state !== 'unknown' || !folder.exists()) return status;
  return { state: 'finished', result: settleLost(folder, table) };
}

/** Waits in the foreground for a job's end. */
export async function waitFor(
  folder: JobFolder,
  table: ProcessTable,
  options: { readonly timeoutSeconds?: number; readonly signal?: AbortSignal } = {},
): Promise<JobResult | undefined> {
  if (!folder.exists()) throw new JobInputError(`there is no job ${folder.jobId} in ${folder.jobsDir}`);
  const until = options.timeoutSeconds === undefined ? Infinity : Date.now() + options.timeoutSeconds * 1000;
  const changes = changesOf(folder);
  try {
    for (;;) {
      const changed = changes.next();
      const status = statusOf(folder, table);
      if (status.state === 'finished') return status.result;
      const left = until - Date.now();
      if (left <= 0 || options.signal?.aborted === true) return undefined;
      const pause = new AbortController();
      const polled = sleep(Math.min(left, POLL_MS), undefined, { signal: pause.signal }).catch(() => undefined);
      await Promise.race([changed, polled]);
      pause.abort();
    }
  } finally {
    changes.close();
  }
}

/** Wakes a waiter when the folder changes; where watching is not possible it only polls. */
function changesOf(folder: JobFolder): { next(): Promise<void>; close(): void } {
  let wake: () => void = () => undefined;
  try {
    const watcher = watch(folder.path, { persistent: false }, () => wake());
    watcher.on('error', () => undefined);
    return { next: () => new Promise((resolve) => (wake = resolve)), close: () => watcher.close() };
  } catch {
    return { next: () => new Promise(() => undefined), close: () => undefined };
  }
}

/** Whose processes end with a job: a user, or where users have names alone, an account. */
interface Hunted {
  readonly uid: number | null;
  readonly account: string | null;
}

type EndAccount = (account: string) => Promise<StopReport>;

async function endWithSession(account: string): Promise<StopReport> {
  closeSpool(WINDOWS_SESSION);
  return await endAccount(account);
}

/**
 * Ends a job and everything of its account. Safe to repeat, and after the job has ended. On Windows the account ends for good,
 * with its session, and nothing runs as it afterwards.
 */
export async function stopJob(
  folder: JobFolder,
  table: ProcessTable,
  { uid, account }: Hunted,
  end: EndAccount | null = process.platform === 'win32' ? endWithSession : null,
): Promise<StopReport> {
  const name = end === null ? null : (account ?? folder.account()?.name ?? null);
  if (folder.exists() && folder.result() === undefined) await stopSupervisor(folder, table);
  const dead = end === null || name === null ? null : await end(name);
  if (dead?.confirmedDead === false) return dead;
  const hunted = huntableUid(uid);
  const quarry = folder.exists() ? quarryOf(folder, table) : NOBODY;
  // What ran in the session of an account that is dead is dead; a job of the runner's own account has a tree of its own.
  const left = dead !== null && quarry.launch?.session !== undefined ? NOBODY : quarry;
  const report = await endAll({ ...left, ...(hunted === null ? {} : { uid: hunted }) }, table, STOP_LIMIT_SECONDS);
  if (folder.exists() && folder.result() === undefined) settleLost(folder, table);
  return report;
}

/** Bars a jobs folder and ends all its jobs: no supervisor of it lives afterwards, and none begins. */
export async function closeJobs(jobsDir: string, table: ProcessTable, uid: number | null): Promise<StopReport> {
  const hunted = huntableUid(uid);
  if (existsSync(jobsDir)) JobFolder.close(jobsDir);
  const names = existsSync(jobsDir) ? readdirSync(jobsDir).filter(isJobId) : [];
  const reports = await Promise.all(
    names.map((name) => stopJob(new JobFolder(jobsDir, name), table, { uid: null, account: null })),
  );
  const last = await endAll({ ...NOBODY, uid: hunted }, table, STOP_LIMIT_SECONDS);
  return [...reports, last].reduce((all, each) => ({
    confirmedDead: all.confirmedDead && each.confirmedDead,
    survivors: all.survivors + each.survivors,
  }));
}

/** Resolves once somebody has asked the supervisor of a job to stop; only Windows needs it. */
export async function stopAsked(folder: JobFolder): Promise<void> {
  while (!existsSync(folder.fileAt(STOP_FILE))) await sleep(POLL_MS, undefined, { ref: false });
}

/** Asks the supervisor first, because it writes the better result; kills it when it does not answer. */
async function stopSupervisor(folder: JobFolder, table: ProcessTable): Promise<void> {
  const supervisor = folder.supervisor();
  if (supervisor === undefined || !table.isAlive(supervisor)) return;
  // Windows has no signal that asks.
  if (process.platform === 'win32') writeFileSync(folder.fileAt(STOP_FILE), '');
  signal(supervisor.pid, 'SIGTERM');
  await waitFor(folder, table, { timeoutSeconds: SUPERVISOR_LIMIT_SECONDS });
  if (table.isAlive(supervisor) && folder.result() === undefined) signal(supervisor.pid, 'SIGKILL');
}

function quarryOf(folder: JobFolder, table: ProcessTable): Quarry {
  const job = folder.job();
  const launch = folder.launch() ?? null;
  const isAlone = job?.isolation.kind === 'none' && job.isolation.keepsDesktop !== true;
  const uid = isAlone ? huntableUid(job.account?.uid) : null;
  const needsTree = uid === null && launch !== null && treeOfLaunch(launch) !== null && folder.result() === undefined;
  return { uid, launch, tree: needsTree ? treeOfNote(launch.launcher, table) : null };
}

/** Writes `runner-lost`, with what lives now; kills nothing. */
function settleLost(folder: JobFolder, table: ProcessTable): JobResult {
  const survivors = survivorsOf(quarryOf(folder, table), table).size;
  const startedAtIso = folder.supervisor()?.startedAtIso;
  const endedAt = new Date();
  const result = buildResult(folder.jobId, {
    end: 'runner-lost',
    startedAt: startedAtIso === undefined ? endedAt : new Date(startedAtIso),
    endedAt,
    confirmedDead: survivors === 0,
    survivors,
    message: 'the supervisor of the job is gone and has left no result',
  });
  return folder.finish(result);
}
