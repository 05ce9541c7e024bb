import { jobId, type JobPurpose } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { TokenPayload } from '#contracts/payloads';
import type { ChannelJob } from '#ports/channel';
import type { Ports } from '#ports/ports';
import { sandboxOf } from './attempt-stages.ts';
import { updateAttempt } from './rows.ts';
import { openWait } from './waits.ts';

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

/** Stores the token, starts the job (once per id) and arms the event of its end. */
export async function startJob(
  ports: Needs,
  attempt: AttemptRow,
  payload: TokenPayload,
  job: ChannelJob,
): Promise<void> {
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  await openWait(ports, rowKeys.jobWait(job.jobId), payload);
  await channel.start(sandbox, job);
  await channel.wait(sandbox, job.jobId);
}
