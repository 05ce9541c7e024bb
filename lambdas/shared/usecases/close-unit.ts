import { classify } from '#core/blame';
import { messageOfCause, stageOfState } from '#core/attempt-verdict';
import { attemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { AttemptRowSchema, type AttemptRow, type StateError, type UnitRow } from '#core/rows';
import { unitStatusOf } from '#core/status';
import type { CloseUnitPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { answerIfEmpty } from './steps/closing.ts';
import { findRow, updateUnit } from './steps/rows.ts';
import { freeSlot } from './steps/slots.ts';
import { gradeOfRow, outcomeOfRow, verdictOfRow } from './steps/verdicts.ts';
import { openWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'tokens' | 'clock' | 'log'>;

/** The ledger gets two hours to be empty; the machine's own limit is the same. */
const CLOSE_SECONDS = 7200;

/** Puts the unit in its class and waits, under the token, until everything its attempts made has been seen gone. */
export async function closeUnit(payload: CloseUnitPayload, ports: Needs): Promise<void> {
  const { sweepId, unitId, token, error } = payload;
  const refused = error?.state === 'AdmitUnit' ? error : null;
  const unit = await updateUnit(ports.unitStore, payload, (row) => row);
  const last = await lastAttempt(ports, unit);
  await updateUnit(ports.unitStore, payload, (row) => settle(row, last, refused, ports.clock.now().toISOString()));
  const held = attemptId(unitId, unit.attempts + 1);
  if (refused !== null) await freeSlot(ports, unitId, held);
  const waiting = last?.attemptId ?? held;
  const key = rowKeys.closeWait(unitId);
  await openWait(ports, key, { token, sweepId, unitId, attemptId: waiting, timeoutSeconds: CLOSE_SECONDS });
  await answerIfEmpty(ports, { sweepId, unitId, attempts: Math.max(unit.attempts, 1) });
}

async function lastAttempt(ports: Needs, unit: UnitRow): Promise<AttemptRow | undefined> {
  const winner = unit.winningAttemptId;
  const id = winner ?? (unit.attempts > 0 ? attemptId(unit.unitId, unit.attempts) : null);
  if (id === null) return undefined;
  return (await findRow(ports.unitStore, rowKeys.attempt(id), AttemptRowSchema))?.value;
}

/** An attempt of this run decides; a unit that got none in this run was not run, for the reason of its refusal. */
function settle(row: UnitRow, last: AttemptRow | undefined, refused: StateError | null, closedAt: string): UnitRow {
  if (last === undefined || (refused !== null && last.run !== row.run)) {
    const seen = classify({
      name: refused?.name ?? 'UnitWithoutAttempt',
      message: messageOfCause(refused?.message ?? ''),
      stage: stageOfState(refused?.state ?? 'AdmitUnit'),
      agentActed: false,
      evidence: null,
    });
    const isNotRun = seen.ledgerClass === 'not_run';
    return {
      ...row,
      closedAt,
      class: isNotRun ? 'not_run' : 'lost',
      notRunReason: seen.notRunReason,
      status: 'not_executed',
    };
  }
  const verdict = verdictOfRow(last);
  const grade = gradeOfRow(last);
  const score = grade?.kind === 'graded' ? grade.score : null;
  const isScored = score !== null;
  return {
    ...row,
    closedAt,
    class: isScored ? 'scored' : verdict.ledgerClass,
    notRunReason: isScored ? null : verdict.notRunReason,
    score,
    status: unitStatusOf({ outcome: outcomeOfRow(last), grade, begun: true }),
    runDir: last.runDir,
  };
}
