import { ExamHallError } from '#core/errors';
import { attemptId as attemptIdOf, gradeId } from '#core/ids';
import { readTaskCard } from '#core/task-card';
import type { AttemptRow, UnitRow } from '#core/rows';
import type { GradePayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { readAttemptInputs } from './inputs.ts';
import { readAttempt, updateAttempt } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'executions' | 'digest' | 'clock'>;

/** Gradings of one attempt, the first included. */
const MOST_GRADES = 100;

/**
 * Starts another grading of the attempt that decided a closed unit, from the output that was collected then and with the
 * task revision that its sweep pinned. The grade of before stands until a newer one is committed.
 * @throws InvalidRequestError saying why there is nothing to grade.
 */
export async function startRegrade(
  ports: Needs,
  unit: UnitRow,
  by: string,
): Promise<{ readonly attemptId: string; readonly gradeNumber: number }> {
  const refuse = (why: string): ExamHallError =>
    new ExamHallError('InvalidRequestError', `${unit.unitId} cannot be graded again: ${why}`);
  if (unit.closedAt === null) throw refuse('it is still open; wait until it is closed');
  if (unit.attempts === 0) throw refuse('it was never attempted');
  const decisive = unit.winningAttemptId ?? attemptIdOf(unit.unitId, unit.attempts);
  const { value: before } = await readAttempt(ports.unitStore, decisive);
  const { task } = await readAttemptInputs(ports.artifacts, before);
  const { grading } = readTaskCard(task.card).card;
  const refusal = refusalOf(before, grading.mode);
  if (refusal !== null) throw refuse(refusal);
  const at = ports.clock.now().toISOString();
  const { attemptId, gradeNumber } = await updateAttempt(ports.unitStore, before.attemptId, (row) => {
    const number = row.gradeNumber + 1;
    return { ...row, gradeNumber: number, regrades: [...row.regrades, { number, by, at }] };
  });
  const id = gradeId(attemptId, gradeNumber);
  const input: GradePayload = {
    sweepId: unit.sweepId,
    unitId: unit.unitId,
    attemptId,
    gradeId: id,
    gradeNumber,
    mode: grading.mode,
    timeoutSeconds: grading.timeoutSeconds,
  };
  await ports.executions.start('grade', gradeExecution(ports.digest, id), input);
  return { attemptId, gradeNumber };
}

/** Name of the execution that makes a grade; a grade's own id may be longer than names are. */
export function gradeExecution({ sha256 }: Ports['digest'], id: string): string {
  return `grade-${sha256(id).slice(0, 40)}`;
}

function refusalOf(attempt: AttemptRow, mode: GradePayload['mode']): string | null {
  if (attempt.closedAt === null) return 'its attempt is still open; wait until it is closed';
  if (attempt.collected?.['exitCode'] !== 0) return 'no output of it was collected';
  if (mode === 'same-sandbox') return 'its grader needs the sandbox of the attempt, which is gone';
  return attempt.gradeNumber >= MOST_GRADES ? `it has ${String(attempt.gradeNumber)} gradings already` : null;
}
