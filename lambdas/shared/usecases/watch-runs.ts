import { gradeId as gradeIdOf, parseJobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { beatAll, eachWaiting, waitsIn, type OnFailure, type Waiting } from './steps/beats.ts';
import { checkSandbox } from './steps/readiness.ts';
import { readAttempt, readSweep } from './steps/rows.ts';
import { answerWait, noteReach } from './steps/waits.ts';
import { lookAtJob, reportLoss, stopCancelled, type WatchedJob } from './steps/watched-jobs.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'providers' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/**
 * No guest is asked later in a pass than this. Two passes are then close enough for every token to be beaten in time, however
 * long the last answers take: the next pass waits for this one.
 */
export const ASK_WITHIN_SECONDS = 30;
/** Most guests asked in a pass about their jobs; the others come first in the next one. */
const MOST_JOBS = 200;
const MOST_SANDBOXES = 100;
/** Questions that a provider answers many at a time. */
const MACHINES_AT_ONCE = 100;
const GUESTS_AT_ONCE = 32;
/** Guests that were silent before have places of their own, so that they keep no other from its look. */
const SILENT_AT_ONCE = 64;

interface Pass {
  readonly ports: Needs;
  readonly onFailure: OnFailure;
  readonly nowIso: string;
  readonly isOver: () => boolean;
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
  const begun = ports.clock.now();
  const isOver = (): boolean => ports.clock.now().getTime() - begun.getTime() > ASK_WITHIN_SECONDS * 1000;
  const pass: Pass = { ports, onFailure, nowIso: begun.toISOString(), isOver };
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

async function lookAtSandboxes(pass: Pass, waits: readonly Waiting[]): Promise<void> {
  const { ports, onFailure, isOver } = pass;
  const look = async ({ key, wait }: Waiting): Promise<void> => {
    if (isOver()) return;
    await checkSandbox(ports, (await readAttempt(ports.unitStore, wait.attemptId)).value);
    await noteReach(ports, key, true);
  };
  await eachWaiting(dueOf(pass, waits).slice(0, MOST_SANDBOXES), look, { atOnce: GUESTS_AT_ONCE, onFailure });
}

/** A job whose guest is asked in this pass. */
interface AskedJob extends WatchedJob, Waiting {
  readonly isDue: boolean;
  readonly isStopped: boolean;
}

/** Machines of all jobs are looked at, which costs little, and the guests of those whose time has come. */
async function lookAtJobs(pass: Pass, jobs: readonly Waiting[]): Promise<void> {
  const { ports, onFailure, isOver } = pass;
  const asked: AskedJob[] = await jobsToAsk(pass, jobs);
  const ask = async (job: AskedJob): Promise<void> => {
    if (isOver()) return;
    if (job.isDue && !(await lookAtJob(ports, job))) return;
    if (job.isStopped && !isOver()) await stopCancelled(ports, job);
  };
  const isSilent = ({ wait }: Waiting): boolean => wait.unreachableSince !== null;
  const silent = asked.filter(isSilent);
  const others = asked.filter((job) => !isSilent(job));
  await Promise.all([
    eachWaiting(others, ask, { atOnce: GUESTS_AT_ONCE, onFailure }),
    eachWaiting(silent, ask, { atOnce: SILENT_AT_ONCE, onFailure }),
  ]);
}

/** Those whose machine is there, and whose time has come or whose sweep was cancelled; transfers are short and let finish. */
async function jobsToAsk(pass: Pass, jobs: readonly Waiting[]): Promise<AskedJob[]> {
  const { ports, onFailure } = pass;
  const isCancelled = cancelledSweeps(ports);
  const due = new Set(dueOf(pass, jobs));
  const asked: AskedJob[] = [];
  const look = async (waiting: Waiting): Promise<void> => {
    const jobId = waiting.key.sk;
    const { value: attempt } = await readAttempt(ports.unitStore, waiting.wait.attemptId);
    if (await reportLoss(ports, { jobId, attempt })) return;
    const isDue = due.has(waiting);
    const isStopped = parseJobId(jobId).purpose === 'run' && (await isCancelled(attempt.sweepId));
    if (isDue || isStopped) asked.push({ ...waiting, jobId, attempt, isDue, isStopped });
  };
  await eachWaiting(jobs, look, { atOnce: MACHINES_AT_ONCE, onFailure });
  return asked.toSorted(byTime).slice(0, MOST_JOBS);
}

/** Those that may be looked at now, the one that waits longest for it first. */
function dueOf({ nowIso }: Pass, waits: readonly Waiting[]): readonly Waiting[] {
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
