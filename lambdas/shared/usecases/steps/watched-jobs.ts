import { isErrorNamed } from '#core/errors';
import { parseJobId } from '#core/ids';
import { UNREACHABLE_SECONDS } from '#core/look-schedule';
import { rowKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import { sandboxOf, storedSandbox } from './attempt-stages.ts';
import { lossOf, noteEvidence } from './evidence.ts';
import { answerFinishedJob } from './finished-jobs.ts';
import { answerWait, noteReach } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'providers' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/** How long a provider may take to say why a machine is gone. */
const EVIDENCE_SECONDS = 60;

/** A job that somebody waits for, with its attempt. */
export interface WatchedJob {
  readonly jobId: string;
  readonly attempt: AttemptRow;
}

/**
 * A sandbox that is gone, or ours no more, ends its job. Whose doing that was, the blame table says once the attempt is over; a provider
 * that gives no reason at once is asked again before the agent has to answer for it.
 * @returns whether the machine is lost to its attempt.
 */
export async function reportLoss(ports: Needs, { jobId, attempt }: WatchedJob): Promise<boolean> {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null) return false;
  const state = await ports.providers.get(sandbox.provider).describe(sandbox);
  if (state.state !== 'gone' && state.state !== 'stopped' && state.isNotOurs !== true) return false;
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

/** Asks the guest whether its job has ended, and answers who waits. @returns whether it still runs. */
export async function lookAtJob(ports: Needs, { jobId, attempt }: WatchedJob): Promise<boolean> {
  try {
    if (await answerFinishedJob(ports, jobId)) {
      const isTold = ports.channels.for(sandboxOf(attempt)).tellsEnds !== false;
      if (isTold) ports.log.warn('job.lost-event', { jobId });
      return false;
    }
    await noteReach(ports, rowKeys.jobWait(jobId), true);
    return true;
  } catch (error) {
    if (!isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    await reportSilence(ports, jobId, String(error));
    return false;
  }
}

/** The agent of a cancelled sweep is stopped; its job then ends as every job does. */
export async function stopCancelled(ports: Needs, { jobId, attempt }: WatchedJob): Promise<void> {
  const sandbox = sandboxOf(attempt);
  try {
    const { confirmedDead, survivors } = await ports.channels.for(sandbox).stop(sandbox, jobId);
    ports.log.info('job.cancelled', { jobId, confirmedDead, survivors });
  } catch (error) {
    if (!isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    await reportSilence(ports, jobId, String(error));
  }
}

/** The machine is there and its guest is silent: told after a while, so that a hiccup of ours costs nothing. */
async function reportSilence(ports: Needs, jobId: string, cause: string): Promise<void> {
  const key = rowKeys.jobWait(jobId);
  const since = await noteReach(ports, key, false);
  if (since === null || secondsSince(ports, since) < UNREACHABLE_SECONDS) return;
  const told = silenceOf(jobId, since, cause);
  ports.log.warn('sandbox.lost', { jobId, error: told.error, evidence: null, since, message: cause });
  await answerWait(ports, key, { kind: 'fail', ...told });
}

/** A collect begins once its agent is confirmed dead: no agent keeps it from answering, and its message quotes nobody. */
function silenceOf(jobId: string, since: string, cause: string): { readonly error: string; readonly cause: string } {
  if (parseJobId(jobId).purpose !== 'collect')
    return { error: 'ChannelUnavailableError', cause: `since ${since}: ${cause}` };
  return { error: 'CollectFailedError', cause: `its machine is there, and its guest has not answered since ${since}` };
}

function secondsSince({ clock }: Pick<Ports, 'clock'>, iso: string): number {
  return (clock.now().getTime() - Date.parse(iso)) / 1000;
}
