import { countGrant, slotOf } from '#core/grants';
import { attemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { AdmitWaitSchema, SlotRowSchema, type AdmitWait, type AttemptRow, type UnitRow } from '#core/rows';
import { withConflictRetry } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { RowWrite } from '#ports/unit-store';
import { findRow, readSweep, readUnit, type Versioned } from './rows.ts';
import { readCounters } from './slots.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'ids'>;

/**
 * Grants what a unit waits for now, in one transaction: wait, slot, counters, attempt. A unit that holds the slot already
 * keeps it, and one that is closed or planned anew gets none.
 * @returns the wait with the token to answer; undefined when nobody is to be told.
 */
export async function grantWait(
  asked: Pick<AdmitWait, 'sweepId' | 'unitId'>,
  ports: Needs,
): Promise<AdmitWait | undefined> {
  const { unitStore } = ports;
  return await withConflictRetry(async () => {
    const found = await findRow(unitStore, rowKeys.admitWait(asked.sweepId, asked.unitId), AdmitWaitSchema);
    if (found === undefined) return undefined;
    const unit = await readUnit(unitStore, asked.sweepId, asked.unitId);
    if (unit.value.closedAt !== null || unit.value.run !== found.value.run) {
      await unitStore.write([
        { remove: rowKeys.admitWait(asked.sweepId, asked.unitId), when: { version: found.version } },
      ]);
      return undefined;
    }
    const id = attemptId(found.value.unitId, found.value.attempt);
    const granted: AdmitWait = { ...found.value, grantedAttemptId: id };
    const keep: RowWrite = {
      put: { ...rowKeys.admitWait(granted.sweepId, granted.unitId), body: granted },
      when: { version: found.version },
    };
    const isHeld = (await findRow(unitStore, rowKeys.slot(id), SlotRowSchema)) !== undefined;
    await unitStore.write(isHeld ? [keep] : [keep, ...(await writesOf({ wait: granted, unit }, ports))]);
    return granted;
  });
}

interface Grant {
  readonly wait: AdmitWait;
  readonly unit: Versioned<UnitRow>;
}

async function writesOf({ wait, unit }: Grant, ports: Needs): Promise<readonly RowWrite[]> {
  const { value: sweep } = await readSweep(ports.unitStore, wait.sweepId);
  const { counters, when } = await readCounters(ports.unitStore);
  const now = ports.clock.now();
  const slot = slotOf(wait, now.toISOString());
  const counted = countGrant(counters, slot);
  const attempt = newAttempt(wait, unit.value, { requestKey: sweep.requestKey, secret: ports.ids.secret(), now });
  const open = { attemptId: attempt.attemptId, sweepId: wait.sweepId };
  return [
    { check: rowKeys.unit(wait.sweepId, wait.unitId), when: { version: unit.version } },
    { put: { ...rowKeys.slot(attempt.attemptId), body: slot }, when: 'absent' },
    { put: { ...rowKeys.slotCounters(), body: counted }, when },
    { put: { ...rowKeys.attempt(attempt.attemptId), body: attempt }, when: 'absent' },
    { put: { ...rowKeys.openAttempt(attempt.attemptId), body: open }, when: 'any' },
  ];
}

function newAttempt(
  wait: AdmitWait,
  unit: UnitRow,
  { requestKey, secret, now }: { readonly requestKey: string; readonly secret: string; readonly now: Date },
): AttemptRow {
  return {
    attemptId: attemptId(wait.unitId, wait.attempt),
    unitId: wait.unitId,
    sweepId: wait.sweepId,
    run: wait.run,
    attempt: wait.attempt,
    agentId: unit.agentId,
    model: unit.model,
    taskPath: unit.taskPath,
    variant: unit.variant,
    requestKey,
    secret,
    grantedAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + unit.lifeSeconds * 1000).toISOString(),
    provider: unit.provider,
    jobTries: {},
    runDir: null,
    runId: null,
    sandbox: null,
    privilege: null,
    prompt: null,
    agentStartedAt: null,
    outcome: null,
    agentResult: null,
    collected: null,
    grade: null,
    gradeNumber: 0,
    regrades: [],
    standingGrade: 0,
    gradeDurationSeconds: null,
    error: null,
    evidence: null,
    stageStartedAt: {},
    stageEndedAt: {},
    recordSha256: null,
    screen: null,
    verdict: null,
    cost: null,
    closedAt: null,
  };
}
