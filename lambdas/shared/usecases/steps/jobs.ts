import { isErrorNamed } from '#core/errors';
import { jobId, type JobPurpose } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { TokenPayload } from '#contracts/payloads';
import type { ChannelJob } from '#ports/channel';
import type { Ports } from '#ports/ports';
import { sandboxOf } from './attempt-stages.ts';
import { updateAttempt } from './rows.ts';
import { expectNoEvent, openWait } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'clock'>;

/**
 * The id a stage's job goes by now: the running or finished one, or the next try after one that ended badly.
 * `run` never gets a second: a repeat attaches to the same job.
 */
export async function currentJobId(ports: Needs, attempt: AttemptRow, purpose: JobPurpose): Promise<string> {
  const tries = attempt.jobTries[purpose] ?? 1;
  const id = jobId(attempt.attemptId, purpose, tries);
  if (purpose === 'run') return id;
  const sandbox = sandboxOf(attempt);
  const status = await ports.channels.for(sandbox).status(sandbox, id);
  const endedBadly = status.state === 'finished' && (status.result.end !== 'exited' || status.result.exitCode !== 0);
  if (!endedBadly) return id;
  await updateAttempt(ports.unitStore, attempt.attemptId, (row) => ({
    ...row,
    jobTries: { ...row.jobTries, [purpose]: tries + 1 },
  }));
  return jobId(attempt.attemptId, purpose, tries + 1);
}

/** How long the event of a job's end may take after its wall limit. */
const EVENT_SECONDS = 60;

/** Stores the token and starts the job, once per id. Where nothing tells of its end, watch-runs looks in each of its passes. */
export async function startJob(
  ports: Needs,
  attempt: AttemptRow,
  payload: TokenPayload,
  job: ChannelJob,
): Promise<void> {
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  const told = channel.tellsEnds === false ? {} : { eventSeconds: job.wallSeconds + EVENT_SECONDS };
  await openWait(ports, rowKeys.jobWait(job.jobId), payload, told);
  await channel.start(sandbox, job);
}

/** Arms the event of the job's end. A guest that does not answer now is left to watch-runs, which looks anyway. */
export async function awaitJob(
  ports: Pick<Ports, 'unitStore' | 'channels' | 'log'>,
  attempt: AttemptRow,
  jobId: string,
): Promise<void> {
  const sandbox = sandboxOf(attempt);
  try {
    await ports.channels.for(sandbox).wait(sandbox, jobId);
  } catch (error) {
    if (!isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    ports.log.warn('job.not-awaited', { jobId, message: String(error) });
    await expectNoEvent(ports, rowKeys.jobWait(jobId));
  }
}
