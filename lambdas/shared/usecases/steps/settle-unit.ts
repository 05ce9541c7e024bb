import { messageOfCause, stageOfState } from '#core/attempt-verdict';
import { classify } from '#core/blame';
import { rowKeys } from '#core/keys';
import type { AttemptRow, StateError, UnitRow } from '#core/rows';
import { unitStatusOf } from '#core/status';
import type { Ports } from '#ports/ports';
import { attemptsOf, updateUnit } from './rows.ts';
import { settleAttempt } from './settle-attempt.ts';
import { freeSlot, freeSlotIfGone } from './slots.ts';
import { gradeOfRow, outcomeOfRow, verdictOfRow } from './verdicts.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'region'>;

export interface UnitIds {
  readonly sweepId: string;
  readonly unitId: string;
}

export interface UnitEnd {
  /** Run of the experiment that has ended; a later one of the same unit is left alone. */
  readonly run: number;
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
  const isMeant = ({ run }: UnitRow): boolean => run === end.run;
  // First, so that grant-slots cannot admit it from here on.
  const closing = await updateUnit(ports.unitStore, ids, (unit) =>
    isMeant(unit) ? { ...unit, closedAt: unit.closedAt ?? closedAt } : unit,
  );
  if (isMeant(closing)) {
    await ports.unitStore.write([{ remove: rowKeys.admitWait(ids.sweepId, ids.unitId), when: 'any' }]);
  }
  const attempts = await settleAttempts(ports, ids.unitId, end);
  return await updateUnit(ports.unitStore, ids, (unit) => {
    const decisive = attempts.find(({ attemptId }) => attemptId === unit.winningAttemptId) ?? attempts.at(-1);
    const counted = { ...unit, attempts: Math.max(unit.attempts, attempts.at(-1)?.attempt ?? 0) };
    if (unit.class !== 'open' || !isMeant(unit)) return counted;
    return decisive === undefined ? withoutAttempt(counted, end.refusal) : decidedBy(counted, decisive);
  });
}

/** @returns the attempts of the run, all closed. */
async function settleAttempts(ports: Needs, unitId: string, end: UnitEnd): Promise<readonly AttemptRow[]> {
  const settled: AttemptRow[] = [];
  for (const attempt of await attemptsOf(ports.unitStore, unitId)) {
    if (attempt.run !== end.run) continue;
    if (attempt.closedAt !== null) {
      // Its close may have been cut off before this.
      await freeSlotIfGone(ports, attempt.attemptId);
      settled.push(attempt);
    } else if (hasBegun(attempt)) settled.push(await settleAttempt(ports, attempt.attemptId, end.attemptError));
    else await takeBack(ports, attempt);
  }
  return settled;
}

function hasBegun(attempt: AttemptRow): boolean {
  return Object.keys(attempt.stageStartedAt).length > 0;
}

/** A grant that nobody took up in time leaves no attempt behind. */
async function takeBack(ports: Needs, { attemptId }: AttemptRow): Promise<void> {
  await freeSlot(ports, attemptId);
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
    guestTrusted: true,
  });
  const isNotRun = seen.ledgerClass === 'not_run';
  return { ...unit, class: isNotRun ? 'not_run' : 'lost', notRunReason: seen.notRunReason, status: 'not_executed' };
}

/** The unit as this attempt leaves it. */
export function decidedBy(unit: UnitRow, attempt: AttemptRow): UnitRow {
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
