import type { JobPurpose } from '#core/ids';
import type { ErrorName } from '#core/errors';
import type { Outcome } from '#core/outcome';

/** The part of a job's result that decides what its waiter is told. Mirrors the guest contract's JobResult. */
export interface EndedJob {
  readonly end: 'exited' | 'wall-limit' | 'stopped' | 'spawn-failed' | 'runner-lost';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationSeconds: number;
  readonly message: string | null;
}

export type JobAnswer =
  | { readonly kind: 'succeed'; readonly outcome: Outcome | null }
  | { readonly kind: 'fail'; readonly error: ErrorName; readonly cause: string; readonly outcome: Outcome | null };

const FAILURE: Readonly<Record<Exclude<JobPurpose, 'run'>, ErrorName>> = {
  stage: 'StagingFailedError',
  collect: 'CollectFailedError',
};

/**
 * What the waiter of an ended job is told. Of a staging or collecting job only a clean exit is good. An agent's job is
 * an outcome however it ended, but for a runner that could not start it (ours). A lost runner after the start is the
 * agent's doing: nothing else in the guest may end it.
 */
export function answerOfJob(purpose: JobPurpose, job: EndedJob): JobAnswer {
  if (purpose === 'run') return answerOfRun(job);
  if (job.end === 'exited' && job.exitCode === 0) return { kind: 'succeed', outcome: null };
  return { kind: 'fail', error: FAILURE[purpose], cause: describeEnd(job), outcome: null };
}

function answerOfRun(job: EndedJob): JobAnswer {
  if (job.end === 'spawn-failed') {
    return { kind: 'fail', error: 'AgentLaunchError', cause: describeEnd(job), outcome: null };
  }
  if (job.end === 'runner-lost') {
    const outcome = outcomeOf('failed', job);
    return { kind: 'succeed', outcome: { ...outcome, message: 'the guest runner was ended while the agent ran' } };
  }
  if (job.end === 'wall-limit') return { kind: 'succeed', outcome: outcomeOf('timeout', job) };
  if (job.end === 'stopped') return { kind: 'succeed', outcome: outcomeOf('cancelled', job) };
  return { kind: 'succeed', outcome: outcomeOf(job.exitCode === 0 ? 'completed' : 'failed', job) };
}

function outcomeOf(kind: Outcome['kind'], job: EndedJob): Outcome {
  const message = kind === 'completed' ? null : describeEnd(job);
  return { kind, exitCode: job.exitCode, durationSeconds: job.durationSeconds, message };
}

function describeEnd(job: EndedJob): string {
  const how = job.signal === null ? `exit code ${String(job.exitCode)}` : `signal ${job.signal}`;
  const said = job.message === null ? '' : `: ${job.message}`;
  return job.end === 'exited' ? `it ended with ${how}${said}` : `${job.end} (${how})${said}`;
}
