import { gradeId as gradeIdOf, parseJobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { beatAll, eachWaiting, waitsIn, type OnFailure, type Waiting } from './steps/beats.ts';
import { checkSandbox } from './steps/readiness.ts';
import { readAttempt, readSweep } from './steps/rows.ts';
import { answerWait, noteFailedLook, noteReach } from './steps/waits.ts';
import { lookAtJob, reportLoss, stopCancelled, type WatchedJob } from './steps/watched-jobs.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'providers' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/** Machines are looked at, and then guests asked, for this long each from when that begins, whatever was done before it. */
export const MACHINES_WITHIN_SECONDS = 25;
export const ASK_WITHIN_SECONDS = 30;
/**
 * The pass ends before its function does, and soon enough for the next to beat every token in time. So in a pass no agent is
 * stopped, no machine looked at and no guest asked later than this after the pass began; what is left is first in the next one.
 */
export const LATEST_SECONDS = { stop: 55, machine: 80, guest: 110 } as const;
/** Most guests asked in a pass about their jobs; the others come first in the next one. */
export const MOST_JOBS = 200;
export const MOST_SANDBOXES = 100;
/** Questions that a provider answers many at a time. */
export const MACHINES_AT_ONCE = 100;
export const GUESTS_AT_ONCE = 32;
/** Guests that were silent before have places of their own, so that they keep no other from its look. */
export const MOST_SILENT = 100;
export const SILENT_AT_ONCE = 64;

interface Pass {
  readonly ports: Needs;
  readonly onFailure: OnFailure;
  readonly begun: Date;
}

/**
 * Beats the tokens of all that waits, then looks: answers sandboxes that became ready, jobs whose event was lost, jobs whose
 * sandbox is gone or no longer answers. What is not come to in a pass is first in the next.
 * @throws the first failure, when all have had their turn.
 */
export async function watchRuns(_tick: TickPayload, ports: Needs): Promise<void> {
  const failures: unknown[] = [];
  const onFailure: OnFailure = ({ pk, sk }, error) => {
    failures.push(error);
    ports.log.error('watch.failed', { row: `${pk} ${sk}`, message: String(error) });
  };
  const pass: Pass = { ports, onFailure, begun: ports.clock.now() };
  const kinds = [rowKeys.sandboxWait(''), rowKeys.jobWait(''), rowKeys.gradeWait('')];
  const [sandboxes = [], jobs = [], grades = []] = await Promise.all(
    kinds.map(async (key) => await waitsIn(ports, key, onFailure)),
  );
  const live = await beatAll(ports, [...sandboxes, ...jobs, ...grades], onFailure);
  const alive = (waits: readonly Waiting[]): readonly Waiting[] => waits.filter((each) => live.has(each));
  await Promise.all([
    lookAtSandboxes(pass, alive(sandboxes)),
    lookAtJobs(pass, alive(jobs)),
    eachWaiting(alive(grades), async (waiting) => await checkGrade(ports, waiting), {
      atOnce: MACHINES_AT_ONCE,
      onFailure,
    }),
  ]);
  if (failures.length > 0) throw failures[0];
}

/** Seconds since the pass began. */
function age({ ports, begun }: Pass): number {
  return (ports.clock.now().getTime() - begun.getTime()) / 1000;
}

/** A part of a pass begins now. @returns whether it is too late in it for another look. */
function begin(pass: Pass, withinSeconds: number, latestSeconds: number): () => boolean {
  const until = Math.min(age(pass) + withinSeconds, latestSeconds);
  return () => age(pass) > until;
}

/** A look that fails comes again in the next pass, after all that have waited longer for theirs. */
function moveOn<T extends Waiting>({ ports, onFailure }: Pass, look: (item: T) => Promise<void>) {
  return async (item: T): Promise<void> => {
    try {
      await look(item);
    } catch (error) {
      await noteFailedLook(ports, item.key).catch((second: unknown) => onFailure(item.key, second));
      throw error;
    }
  };
}

async function lookAtSandboxes(pass: Pass, waits: readonly Waiting[]): Promise<void> {
  const { ports, onFailure } = pass;
  const isOver = begin(pass, ASK_WITHIN_SECONDS, LATEST_SECONDS.guest);
  const look = moveOn(pass, async ({ key, wait }: Waiting): Promise<void> => {
    if (isOver()) return;
    await checkSandbox(ports, (await readAttempt(ports.unitStore, wait.attemptId)).value);
    await noteReach(ports, key, true);
  });
  await eachWaiting(dueOf(pass, waits).slice(0, MOST_SANDBOXES), look, { atOnce: GUESTS_AT_ONCE, onFailure });
}

/** A job whose guest is asked in this pass. */
interface AskedJob extends WatchedJob, Waiting {
  readonly isDue: boolean;
  readonly isStopped: boolean;
}

/** Machines of all jobs are looked at, which costs little, and the guests of those whose time has come. */
async function lookAtJobs(pass: Pass, jobs: readonly Waiting[]): Promise<void> {
  const { ports, onFailure } = pass;
  const asked: readonly AskedJob[] = await jobsToAsk(pass, jobs);
  const isOver = begin(pass, ASK_WITHIN_SECONDS, LATEST_SECONDS.guest);
  const ask = moveOn(pass, async (job: AskedJob): Promise<void> => {
    if (isOver()) return;
    if (job.isDue && !(await lookAtJob(ports, job))) return;
    if (job.isStopped && age(pass) <= LATEST_SECONDS.stop) await stopCancelled(ports, job);
  });
  const isSilent = ({ wait }: Waiting): boolean => wait.unreachableSince !== null;
  const silent = asked.filter(isSilent).slice(0, MOST_SILENT);
  const others = asked.filter((job) => !isSilent(job)).slice(0, MOST_JOBS);
  await Promise.all([
    eachWaiting(others, ask, { atOnce: GUESTS_AT_ONCE, onFailure }),
    eachWaiting(silent, ask, { atOnce: SILENT_AT_ONCE, onFailure }),
  ]);
}

/**
 * Those whose machine is there, and whose time has come or whose sweep was cancelled, the one that waits longest first. Transfers
 * are short and let finish.
 */
async function jobsToAsk(pass: Pass, jobs: readonly Waiting[]): Promise<readonly AskedJob[]> {
  const { ports, onFailure } = pass;
  const isCancelled = cancelledSweeps(ports);
  const due = new Set(dueOf(pass, jobs));
  const asked: AskedJob[] = [];
  const isOver = begin(pass, MACHINES_WITHIN_SECONDS, LATEST_SECONDS.machine);
  const look = moveOn(pass, async (waiting: Waiting): Promise<void> => {
    if (isOver()) return;
    const jobId = waiting.key.sk;
    const { value: attempt } = await readAttempt(ports.unitStore, waiting.wait.attemptId);
    if (await reportLoss(ports, { jobId, attempt })) return;
    const isDue = due.has(waiting);
    const isStopped = parseJobId(jobId).purpose === 'run' && (await isCancelled(attempt.sweepId));
    if (isDue || isStopped) asked.push({ ...waiting, jobId, attempt, isDue, isStopped });
  });
  await eachWaiting(jobs.toSorted(byTime), look, { atOnce: MACHINES_AT_ONCE, onFailure });
  return asked.toSorted(byTime);
}

/** Those that may be looked at now, the one that waits longest for it first. */
function dueOf({ begun }: Pass, waits: readonly Waiting[]): readonly Waiting[] {
  const nowIso = begun.toISOString();
  return waits.filter(({ wait }) => (wait.lookAt ?? wait.since) <= nowIso).toSorted(byTime);
}

function byTime({ wait: one }: Waiting, { wait: other }: Waiting): number {
  return Date.parse(one.lookAt ?? one.since) - Date.parse(other.lookAt ?? other.since);
}

/** The commit answers by itself; this is for one that was cut off before it did. */
async function checkGrade(ports: Needs, { key, wait }: Waiting): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
  if (attempt.grade === null || gradeIdOf(attempt.attemptId, attempt.gradeNumber) !== key.sk) return;
  await answerWait(ports, key, { kind: 'succeed', output: {} });
}

/** Whether a sweep was cancelled, asked once per sweep and pass. */
function cancelledSweeps({ unitStore }: Needs): (sweepId: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return async (sweepId) => {
    const asked = known.get(sweepId) ?? readSweep(unitStore, sweepId).then(({ value }) => value.cancelled);
    known.set(sweepId, asked);
    return await asked;
  };
}
