import { parseJobId, type JobPurpose } from '#core/ids';
import { answerOfJob } from '#core/job-answer';
import { rowKeys } from '#core/keys';
import { WaitRowSchema, type AttemptRow } from '#core/rows';
import type { JobResult } from '#contracts/guest';
import type { Ports } from '#ports/ports';
import { endStage, sandboxOf } from './attempt-stages.ts';
import { findRow, readAttempt } from './rows.ts';
import { logRunEvent } from './run-events.ts';
import { answerWait } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'tokens' | 'runTree' | 'clock'>;

/** True when the job had ended and its waiter was answered. */
export async function answerFinishedJob(ports: Needs, jobId: string): Promise<boolean> {
  const key = rowKeys.jobWait(jobId);
  const wait = await findRow(ports.unitStore, key, WaitRowSchema);
  if (wait === undefined) return false;
  const { attemptId, purpose } = parseJobId(jobId);
  const { value: attempt } = await readAttempt(ports.unitStore, attemptId);
  const sandbox = sandboxOf(attempt);
  const status = await ports.channels.for(sandbox).status(sandbox, jobId);
  if (status.state !== 'finished') return false;
  const answer = answerOfJob(purpose, status.result);
  const now = ports.clock.now().toISOString();
  const next = await endStage(ports, attemptId, purpose, (row) => {
    const noted = noteResult(row, purpose, status.result, answer.outcome);
    const hasRun = purpose === 'run' && status.result.end !== 'spawn-failed';
    return hasRun ? { ...noted, agentStartedAt: row.agentStartedAt ?? now } : noted;
  });
  await logEnd(ports, next, purpose, status.result);
  const told = answer.kind === 'succeed' ? ({ kind: 'succeed', output: {} } as const) : answer;
  await answerWait(ports, key, told);
  return true;
}

function noteResult(row: AttemptRow, purpose: JobPurpose, result: JobResult, outcome: object | null): AttemptRow {
  if (purpose === 'run')
    return { ...row, agentResult: { ...result }, outcome: outcome === null ? null : { ...outcome } };
  return purpose === 'collect' ? { ...row, collected: { ...result } } : row;
}

async function logEnd(ports: Needs, attempt: AttemptRow, purpose: JobPurpose, result: JobResult): Promise<void> {
  switch (purpose) {
    case 'stage':
      return;
    case 'run':
      await logRunEvent(ports, attempt, 'agent_finished', {
        status: attempt.outcome?.['kind'] ?? null,
        error: result.message,
      });
      return;
    case 'collect':
      await logRunEvent(ports, attempt, result.exitCode === 0 ? 'output_gather_done' : 'output_gather_failed', {
        files: result.transferredFiles,
        bytes: result.transferredBytes,
      });
  }
}
