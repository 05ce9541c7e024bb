import { messageOfCause } from '#core/attempt-verdict';
import { rowKeys, rowPrefixes } from '#core/keys';
import { UnitRowSchema } from '#core/rows';
import { GradePayload, SweepPayload, UnitPlanItem, type ExecutionStatusDetail } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { abandonUnit } from './steps/abandon.ts';
import { forEachGuarded } from './steps/for-each.ts';
import { allRows, readBody, updateAttempt } from './steps/rows.ts';
import { closeSweep } from './steps/sweeps.ts';
import { answerWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'region' | 'providers' | 'timers' | 'tokens' | 'events' | 'clock' | 'log'>;

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
  else if (sweep.success) await abandonSweep(sweep.data, cause, ports);
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

/** @throws the first failure, when every unit has been tried. */
async function abandonSweep({ sweepId, run }: SweepPayload, cause: string, ports: Needs): Promise<void> {
  const units = allRows(ports.unitStore, { pk: rowKeys.sweep(sweepId).pk, skPrefix: rowPrefixes.unit });
  await forEachGuarded(
    units,
    async (row) => {
      const unit = readBody(UnitRowSchema, row);
      if (unit.run === run && unit.class === 'open') await abandonUnit(ports, unit, cause);
    },
    { onFailure: ({ sk }, error) => ports.log.error('abandon.failed', { sweepId, row: sk, message: String(error) }) },
  );
  await closeSweep(ports, sweepId, run, cause);
}
