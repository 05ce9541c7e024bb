import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GuestJob, JobEnd, JobResult } from '#contracts/guest';
import { collectAsRunner, readerOf, type CollectReport } from './collect.ts';
import { askToEnd, endAll, huntableUid, type Quarry } from './end-processes.ts';
import type { FetchReport } from './fetch-files.ts';
import { removeGroup } from './job-cgroup.ts';
import { buildResult, type JobFolder, type ResultParts } from './job-folder.ts';
import { baseEnvironment, homeOf, innerArgv, launch, SpawnFailedError, type Launched } from './launch.ts';
import { closeWriteEnds, makePipes } from './named-pipe.ts';
import { drainToFile, type OutputCount } from './output-file.ts';
import { treeOfLaunch } from './process-tree.ts';
import type { ProcessTable } from './process-table.ts';

/** Between SIGTERM and SIGKILL. */
const GRACE_SECONDS = 2;
/** How long a supervisor tries to kill before it reports survivors. */
const END_LIMIT_SECONDS = 60;
const MIB = 1024 * 1024;

type Why = Exclude<JobEnd, 'exited' | 'spawn-failed' | 'runner-lost'>;

/** Runs one published job from start to `result.json`. `stopped` resolves when somebody asks it to stop. */
export async function supervise(
  folder: JobFolder,
  job: GuestJob,
  table: ProcessTable,
  stopped: Promise<unknown>,
): Promise<JobResult> {
  const startedAt = new Date();
  let parts: Omit<ResultParts, 'startedAt' | 'endedAt'>;
  try {
    // A release that barred the folder before it saw this job must find nothing of the agent running afterwards.
    parts = folder.isClosed()
      ? { end: 'stopped', confirmedDead: true, survivors: 0 }
      : await runJob(folder, job, table, stopped);
  } catch (error) {
    const quarry = { uid: accountUid(job), launch: folder.launch() ?? null, tree: null };
    const report = await endAll(quarry, table, 5).catch(() => ({ confirmedDead: false, survivors: 0 }));
    const message = error instanceof SpawnFailedError ? error.message : `the runner failed: ${describe(error)}`;
    parts = { end: 'spawn-failed', message, ...report };
  }
  const result = buildResult(job.jobId, { ...parts, startedAt, endedAt: new Date() });
  return folder.finish(result);
}

/** With walls of its own a job is hunted by them, so that another job or the desktop of the same account may go on. */
function accountUid({ isolation, account }: GuestJob): number | null {
  return isolation.kind === 'namespaces' || isolation.keepsDesktop === true ? null : huntableUid(account?.uid);
}

async function runJob(
  folder: JobFolder,
  job: GuestJob,
  table: ProcessTable,
  stopped: Promise<unknown>,
): Promise<Omit<ResultParts, 'startedAt' | 'endedAt'>> {
  const { launched, streams } = await startCommand(folder, job, table);
  const limit = job.kind === 'exec' ? job.outputLimitMiB * MIB : 256 * MIB;
  const drains = streams.map((stream, index) =>
    drainToFile(stream, folder.fileAt(index === 0 ? 'stdout' : 'stderr'), limit),
  );
  const uid = accountUid(job);
  const tree = uid === null ? treeOfLaunch(launched.note) : null;
  const quarry: Quarry = { uid, launch: launched.note, tree };

  const stopLooking = tree?.follow(table);
  const why = await firstOf(launched, job.wallSeconds, stopped);
  stopLooking?.();
  tree?.look(table);
  if (why !== 'exited') await askToEnd(quarry, table, GRACE_SECONDS);
  launched.release();
  if (why !== 'exited') launched.kill();
  const report = await endAll(quarry, table, END_LIMIT_SECONDS);
  if (launched.note.group !== undefined) removeGroup(launched.note.group);
  const output = outputParts(await drained(streams, drains));
  if (why !== 'exited') return { end: why, ...report, output, message: null };
  const end = await launched.ended;
  if (job.kind === 'exec') return { end: 'exited', ...end, ...report, output };
  const finished = await finishTransfer(job, folder, end.exitCode);
  return { end: 'exited', signal: end.signal, ...report, output, ...finished };
}

/** What happened first. @throws SpawnFailedError when the command never started. */
async function firstOf(launched: Launched, wallSeconds: number, stopped: Promise<unknown>): Promise<'exited' | Why> {
  const over = new AbortController();
  const wall = sleep(wallSeconds * 1000, 'wall-limit' as const, { signal: over.signal }).catch(
    () => 'wall-limit' as const,
  );
  try {
    return await Promise.race([
      launched.ended.then(() => 'exited' as const),
      wall,
      stopped.then(() => 'stopped' as const),
    ]);
  } finally {
    over.abort();
  }
}

/** The pipes close with their last writer; one that got away must not hold the result up. */
async function drained(
  streams: readonly Readable[],
  drains: readonly Promise<OutputCount>[],
): Promise<readonly OutputCount[]> {
  const all = Promise.all(drains);
  const isLate = await Promise.race([all.then(() => false), sleep(2000, true, { ref: false })]);
  if (isLate) for (const stream of streams) stream.destroy();
  return all;
}

function outputParts([stdout, stderr]: readonly OutputCount[]): NonNullable<ResultParts['output']> {
  return {
    stdoutBytes: stdout?.bytes ?? 0,
    stderrBytes: stderr?.bytes ?? 0,
    stdoutTruncated: stdout?.isTruncated ?? false,
    stderrTruncated: stderr?.isTruncated ?? false,
  };
}

function commandOf(job: GuestJob): { argv: readonly string[]; env: Readonly<Record<string, string>>; cwd: string } {
  const account = readerOf(job);
  const base = baseEnvironment(account, job.isolation);
  if (job.kind === 'exec') return { argv: job.argv, env: { ...base, ...job.env }, cwd: job.cwd };
  const cwd = homeOf(account, job.isolation);
  return { argv: innerArgv(job.isolation, `${job.kind}-inside`), env: base, cwd };
}

/** What the command reads; URLs travel only here, never in arguments or environments. */
function inputOf(job: GuestJob): string | null {
  return job.kind === 'exec' ? job.stdin : JSON.stringify(job);
}

/** Starts the job's command; its input is a file without a name, which can be opened again as `/dev/stdin`. */
async function startCommand(
  folder: JobFolder,
  job: GuestJob,
  table: ProcessTable,
): Promise<{ readonly launched: Launched; readonly streams: readonly Readable[] }> {
  const input = inputOf(job);
  const inputFd = input === null ? null : folder.openInput(input);
  const pipes = process.platform === 'win32' ? [] : makePipes(folder.path, 2);
  const [stdout, stderr] = pipes.map((pipe) => pipe.writeFd);
  const readEnds = pipes.map((pipe) => pipe.readEnd);
  try {
    const launched = await launch(
      {
        ...commandOf(job),
        account: readerOf(job),
        isolation: job.isolation,
        stdio: [inputFd ?? 'ignore', stdout ?? 'pipe', stderr ?? 'pipe'],
        onNote: (note) => folder.noteLaunch(note),
      },
      table,
    );
    launched.ended.catch(() => undefined);
    const own = [launched.stdout, launched.stderr].filter((stream) => stream !== null);
    return { launched, streams: [...readEnds, ...own] };
  } catch (error) {
    for (const stream of readEnds) stream.destroy();
    throw error;
  } finally {
    closeWriteEnds(pipes);
    if (inputFd !== null) closeSync(inputFd);
  }
}

async function finishTransfer(
  job: Exclude<GuestJob, { kind: 'exec' }>,
  folder: JobFolder,
  exitCode: number | null,
): Promise<Pick<ResultParts, 'exitCode' | 'message' | 'transfer'>> {
  const report = readReport(folder);
  if (exitCode !== 0 || report === undefined) {
    return { exitCode: exitCode ?? 1, message: report?.message ?? `the ${job.kind} ended without a report` };
  }
  if (job.kind === 'fetch') return { exitCode: 0, transfer: { ...transferOf(report), sha256OfManifest: null } };
  try {
    const whole = await collectAsRunner(job, report as CollectReport);
    return { exitCode: 0, transfer: { ...transferOf(whole), sha256OfManifest: whole.sha256OfManifest } };
  } catch (error) {
    return { exitCode: 1, message: describe(error) };
  }
}

function transferOf(report: FetchReport): { transferredFiles: number; transferredBytes: number } {
  return { transferredFiles: report.files, transferredBytes: report.bytes };
}

function readReport(folder: JobFolder): FetchReport | CollectReport | undefined {
  try {
    return JSON.parse(folder.readFile('stdout')) as FetchReport;
  } catch {
    return undefined;
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
