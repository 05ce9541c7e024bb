import { isErrorNamed } from '#core/errors';
import { gradeId as gradeIdOf, parseJobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { WaitRowSchema, type AttemptRow, type WaitRow } from '#core/rows';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { Row } from '#ports/unit-store';
import { sandboxOf, storedSandbox } from './steps/attempt-stages.ts';
import { lossOf, noteEvidence } from './steps/evidence.ts';
import { answerFinishedJob } from './steps/finished-jobs.ts';
import { forEachGuarded } from './steps/for-each.ts';
import { checkSandbox } from './steps/readiness.ts';
import { allRows, findRow, readAttempt, readBody, readSweep } from './steps/rows.ts';
import { answerWait, forgetWait, noteReach } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'providers' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/** How long a guest may leave us without an answer before its state is told. */
const UNREACHABLE_SECONDS = 600;
/** How long a provider may take to say why a machine is gone. */
const EVIDENCE_SECONDS = 60;

/**
 * Looks at everything that waits: answers sandboxes that became ready, jobs whose event was lost, jobs whose sandbox is
 * gone or no longer answers, and beats the tokens of all others. One that cannot be looked at keeps no other from its beat.
 * @throws the first failure of a look, when all have had theirs.
 */
export async function watchRuns(_tick: TickPayload, ports: Needs): Promise<void> {
  const onFailure = ({ pk, sk }: Row, error: unknown): void => {
    ports.log.error('watch.failed', { row: `${pk} ${sk}`, message: String(error) });
  };
  const sandboxes = allRows(ports.unitStore, { pk: rowKeys.sandboxWait('').pk });
  const jobs = allRows(ports.unitStore, { pk: rowKeys.jobWait('').pk });
  const grades = allRows(ports.unitStore, { pk: rowKeys.gradeWait('').pk });
  const isCancelled = cancelledSweeps(ports);
  const checkRunning: Check = async (_, jobId, wait) => await checkJob(ports, { jobId, wait, isCancelled });
  const looks = [
    forEachGuarded(sandboxes, async (row) => await look(ports, row, checkWaitedSandbox), { onFailure }),
    forEachGuarded(jobs, async (row) => await look(ports, row, checkRunning), { onFailure }),
    forEachGuarded(grades, async (row) => await look(ports, row, checkGrade), { onFailure }),
  ];
  for (const look of await Promise.allSettled(looks)) if (look.status === 'rejected') throw look.reason;
}

type Check = (ports: Needs, sk: string, wait: WaitRow) => Promise<void>;

/** The beat is sent whatever the look came to: a fault of ours must not cost the unit its token. */
async function look(ports: Needs, row: Row, check: Check): Promise<void> {
  const wait = readBody(WaitRowSchema, row);
  try {
    await check(ports, row.sk, wait);
  } finally {
    const still = await findRow(ports.unitStore, row, WaitRowSchema);
    const { token } = wait;
    if (still?.value.token === token && !(await ports.tokens.heartbeat(token))) await forgetWait(ports, row, token);
  }
}

async function checkWaitedSandbox(ports: Needs, _sk: string, wait: WaitRow): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
  await checkSandbox(ports, attempt);
}

/** The commit answers by itself; this is for one that was cut off before it did. */
async function checkGrade(ports: Needs, gradeId: string, wait: WaitRow): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
  if (attempt.grade === null || gradeIdOf(attempt.attemptId, attempt.gradeNumber) !== gradeId) return;
  await answerWait(ports, rowKeys.gradeWait(gradeId), { kind: 'succeed', output: {} });
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

interface WaitedJob {
  readonly jobId: string;
  readonly wait: WaitRow;
  readonly isCancelled: (sweepId: string) => Promise<boolean>;
}

async function checkJob(ports: Needs, { jobId, wait, isCancelled }: WaitedJob): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
  if (await reportLoss(ports, jobId, attempt)) return;
  try {
    if (await answerFinishedJob(ports, jobId)) ports.log.warn('job.lost-event', { jobId });
    else {
      await noteReach(ports, rowKeys.jobWait(jobId), true);
      if (await isCancelled(attempt.sweepId)) await stopCancelled(ports, jobId, attempt);
    }
  } catch (error) {
    if (!isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    await reportSilence(ports, jobId, String(error));
  }
}

/**
 * A sandbox that is gone ends its job. Whose doing that was, the blame table says once the attempt is over; a provider
 * that gives no reason at once is asked again before the agent has to answer for it.
 */
async function reportLoss(ports: Needs, jobId: string, attempt: AttemptRow): Promise<boolean> {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null) return false;
  const state = await ports.providers.get(sandbox.provider).describe(sandbox);
  if (state.state !== 'gone' && state.state !== 'stopped') return false;
  const said = lossOf(state);
  const { evidence } = said === null ? attempt : await noteEvidence(ports, attempt.attemptId, said);
  if (evidence === null && attempt.agentStartedAt !== null) {
    const since = await noteReach(ports, rowKeys.jobWait(jobId), false);
    if (since === null || secondsSince(ports, since) < EVIDENCE_SECONDS) return true;
  }
  const cause = `${sandbox.sandboxId} is ${state.state} while ${jobId} was running; evidence: ${evidence ?? 'none'}`;
  ports.log.warn('sandbox.lost', { jobId, evidence });
  await answerWait(ports, rowKeys.jobWait(jobId), { kind: 'fail', error: 'SandboxLostError', cause });
  return true;
}

/** The agent of a cancelled sweep is stopped; its job then ends as every job does. Transfers are short and are let finish. */
async function stopCancelled(ports: Needs, jobId: string, attempt: AttemptRow): Promise<void> {
  if (parseJobId(jobId).purpose !== 'run') return;
  const sandbox = sandboxOf(attempt);
  const { confirmedDead, survivors } = await ports.channels.for(sandbox).stop(sandbox, jobId);
  ports.log.info('job.cancelled', { jobId, confirmedDead, survivors });
}

/** The machine is there and its guest is silent: told after a while, so that a hiccup of ours costs nothing. */
async function reportSilence(ports: Needs, jobId: string, cause: string): Promise<void> {
  const key = rowKeys.jobWait(jobId);
  const since = await noteReach(ports, key, false);
  if (since === null || secondsSince(ports, since) < UNREACHABLE_SECONDS) return;
  ports.log.warn('sandbox.lost', { jobId, error: 'ChannelUnavailableError', evidence: null, since });
  await answerWait(ports, key, { kind: 'fail', error: 'ChannelUnavailableError', cause: `since ${since}: ${cause}` });
}

function secondsSince({ clock }: Needs, iso: string): number {
  return (clock.now().getTime() - Date.parse(iso)) / 1000;
}
