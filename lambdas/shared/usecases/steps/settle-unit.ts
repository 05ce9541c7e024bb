import { messageOfCause, stageOfState } from '#core/attempt-verdict';
import { classify } from '#core/blame';
import { rowKeys } from '#core/keys';
import type { AttemptRow, StateError, UnitRow } from '#core/rows';
import { unitStatusOf } from '#core/status';
import type { Ports } from '#ports/ports';
import { attemptsOf, updateUnit } from './rows.ts';
import { settleAttempt } from './settle-attempt.ts';
import { freeSlot } from './slots.ts';
import { gradeOfRow, outcomeOfRow, verdictOfRow } from './verdicts.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock'>;

export interface UnitIds {
  readonly sweepId: string;
  readonly unitId: string;
}

export interface UnitEnd {
  /** What ended attempts that are still open. */
  readonly attemptError: StateError;
  /** Why a unit without an attempt in this run had none. */
  readonly refusal: StateError;
}

/**
 * Puts a unit in its class: takes back its admission, closes what is open, and lets its last attempt of this run decide.
 * The class it has already stands. Safe to repeat.
 */
export async function settleUnit(ports: Needs, ids: UnitIds, end: UnitEnd): Promise<UnitRow> {
  const closedAt = ports.clock.now().toISOString();
  // First, so that grant-slots cannot admit it from here on.
  await updateUnit(ports.unitStore, ids, (unit) => ({ ...unit, closedAt: unit.closedAt ?? closedAt }));
  await ports.unitStore.write([{ remove: rowKeys.admitWait(ids.sweepId, ids.unitId), when: 'any' }]);
  const attempts: AttemptRow[] = [];
  for (const attempt of await attemptsOf(ports.unitStore, ids.unitId)) {
    if (attempt.closedAt !== null) attempts.push(attempt);
    else if (hasBegun(attempt)) attempts.push(await settleAttempt(ports, attempt.attemptId, end.attemptError));
    else await takeBack(ports, attempt);
  }
  return await updateUnit(ports.unitStore, ids, (unit) => {
    const ofRun = attempts.filter(({ run }) => run === unit.run);
    const decisive = ofRun.find(({ attemptId }) => attemptId === unit.winningAttemptId) ?? ofRun.at(-1);
    const counted = { ...unit, attempts: Math.max(unit.attempts, attempts.at(-1)?.attempt ?? 0) };
    if (unit.class !== 'open') return counted;
    return decisive === undefined ? withoutAttempt(counted, end.refusal) : decidedBy(counted, decisive);
  });
}

function hasBegun(attempt: AttemptRow): boolean {
  return Object.keys(attempt.stageStartedAt).length > 0;
}

/** A grant that nobody took up in time leaves no attempt behind. */
async function takeBack(ports: Needs, { unitId, attemptId }: AttemptRow): Promise<void> {
  await freeSlot(ports, unitId, attemptId);
  await ports.unitStore.write([
    { remove: rowKeys.attempt(attemptId), when: 'any' },
    { remove: rowKeys.openAttempt(attemptId), when: 'any' },
  ]);
}

function withoutAttempt(unit: UnitRow, refusal: StateError): UnitRow {
  const seen = classify({
    name: refusal.name,
    message: messageOfCause(refusal.message),
    stage: stageOfState(refusal.state),
    agentActed: false,
    evidence: null,
  });
  const isNotRun = seen.ledgerClass === 'not_run';
  return { ...unit, class: isNotRun ? 'not_run' : 'lost', notRunReason: seen.notRunReason, status: 'not_executed' };
}

function decidedBy(unit: UnitRow, attempt: AttemptRow): UnitRow {
  const verdict = verdictOfRow(attempt);
  const grade = gradeOfRow(attempt);
  return {
    ...unit,
    class: verdict.ledgerClass,
    notRunReason: verdict.notRunReason,
    score: grade?.kind === 'graded' ? grade.score : null,
    status: unitStatusOf({ outcome: outcomeOfRow(attempt), grade, begun: true }),
    runDir: attempt.runDir,
  };
}
