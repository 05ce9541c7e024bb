import { gradeId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { readTaskCard } from '#core/task-card';
import type { GradePayload, TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { AttemptRow } from '#core/rows';
import { beginStage } from './steps/attempt-stages.ts';
import { readAttemptInputs } from './steps/inputs.ts';
import { gradeExecution } from './steps/regrade.ts';
import { readSweep, updateAttempt } from './steps/rows.ts';
import { outcomeOfRow } from './steps/verdicts.ts';
import { answerWait, openWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'executions' | 'tokens' | 'digest' | 'clock'>;

/** What an agent left that its sweep's owner stopped says nothing about the agent; that it was stopped, only its guest says. */
async function gradeIfStopped({ unitStore }: Needs, attempt: AttemptRow): Promise<AttemptRow> {
  if (attempt.grade !== null || outcomeOfRow(attempt)?.kind !== 'cancelled') return attempt;
  if (!(await readSweep(unitStore, attempt.sweepId)).value.cancelled) return attempt;
  const message = 'the sweep was cancelled while the agent ran';
  const grade = { kind: 'ungraded', reason: 'cancelled', blame: 'caller', message };
  return await updateAttempt(unitStore, attempt.attemptId, (row) => ({ ...row, grade: row.grade ?? grade }));
}

/**
 * Starts one grading under the token; CommitGrade returns it, or the failure event does. A repeat joins the same one, and
 * is answered at once when that is over.
 */
export async function gradeUnit(payload: TokenPayload, ports: Needs): Promise<void> {
  const begun = await beginStage(ports, payload.attemptId, 'grade', (row) => ({
    ...row,
    gradeNumber: Math.max(row.gradeNumber, 1),
  }));
  const attempt = await gradeIfStopped(ports, begun);
  const { task } = await readAttemptInputs(ports.artifacts, attempt);
  const { grading } = readTaskCard(task.card).card;
  const id = gradeId(attempt.attemptId, attempt.gradeNumber);
  await openWait(ports, rowKeys.gradeWait(id), payload);
  if (attempt.grade !== null) {
    await answerWait(ports, rowKeys.gradeWait(id), { kind: 'succeed', output: {} });
    return;
  }
  const input: GradePayload = {
    sweepId: attempt.sweepId,
    unitId: attempt.unitId,
    attemptId: attempt.attemptId,
    gradeId: id,
    gradeNumber: attempt.gradeNumber,
    mode: grading.mode,
    timeoutSeconds: grading.timeoutSeconds,
  };
  await ports.executions.start('grade', gradeExecution(ports.digest, id), input);
}
