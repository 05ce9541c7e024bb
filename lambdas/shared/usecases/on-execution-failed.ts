import { messageOfCause } from '#core/attempt-verdict';
import { rowKeys } from '#core/keys';
import { GradePayload, SweepPayload, UnitPlanItem, type ExecutionStatusDetail } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { abandonUnit } from './steps/abandon.ts';
import { abandonSweep } from './steps/abandon-sweep.ts';
import { updateAttempt } from './steps/rows.ts';
import { answerWait } from './steps/waits.ts';

type Needs = Pick<
  Ports,
  'unitStore' | 'artifacts' | 'region' | 'providers' | 'timers' | 'tokens' | 'events' | 'clock' | 'log'
>;

/**
 * What a failed, timed-out or stopped execution left: a grade's token is returned, a unit's or sweep's open attempts
 * are released and settled as the platform's fault. Catch does not run on those ends, so this does. Safe to repeat.
 */
export async function onExecutionFailed(detail: ExecutionStatusDetail, ports: Needs): Promise<void> {
  const input: unknown = parse(detail.input);
  const cause =
    `${detail.name} ended ${detail.status}: ${detail.error ?? ''} ${messageOfCause(detail.cause ?? '')}`.trim();
  const grade = GradePayload.safeParse(input);
  const unit = UnitPlanItem.safeParse(input);
  const sweep = SweepPayload.safeParse(input);
  if (grade.success) await returnGrade(grade.data, cause, ports);
  else if (unit.success) await abandonUnit(ports, unit.data, cause);
  else if (sweep.success) await abandonSweep(ports, sweep.data, cause);
  else return;
  await ports.events.publish('slot.freed', {});
}

function parse(text: string | null | undefined): unknown {
  if (text === null || text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The grade is settled first, so that a GradeUnit that asks again later hears of it. One that is committed stands. */
async function returnGrade(
  { attemptId, gradeId, gradeNumber }: GradePayload,
  cause: string,
  ports: Needs,
): Promise<void> {
  const missing = { kind: 'ungraded', reason: 'platform-fault', blame: 'platform', message: cause };
  await updateAttempt(ports.unitStore, attemptId, (row) =>
    row.gradeNumber === gradeNumber ? { ...row, grade: row.grade ?? missing } : row,
  );
  await answerWait(ports, rowKeys.gradeWait(gradeId), { kind: 'fail', error: 'GraderUnavailableError', cause });
}
