import { attemptId } from '#core/ids';
import { addToCounters, decideGrants, slotOf, type Refusal, type SweepAtGate } from '#core/grants';
import { rowKeys } from '#core/keys';
import {
  AdmitWaitSchema,
  EMPTY_COUNTERS,
  SlotCountersSchema,
  type AdmitWait,
  type AttemptRow,
  type SlotCounters,
} from '#core/rows';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { RowCondition } from '#ports/unit-store';
import { allRows, findRow, readBody, readSweep, readUnit, withConflictRetry } from './steps/rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'events' | 'tokens' | 'log'>;

/** Grants in one pass; more wait for the next pass, which each grant's own traffic brings about. */
const LAUNCH_ALLOWANCE = 50;
/** Most waits looked at per sweep and pass. */
const MOST_WAITS = 1000;
/** Waits looked at beyond the free slots, so that a few refused or granted ones do not hide the others. */
const SPARE_WAITS = 10;

/**
 * The only throttle. Runs one at a time: sends tokens that were granted but not taken, refuses what cannot start any
 * more, and grants what fits, each grant in one transaction with its slot, attempt and counters.
 */
export async function grantSlots(tick: TickPayload, ports: Needs): Promise<void> {
  const { counters } = await readCounters(ports);
  const waiting = await readGates(counters, tick['sweepId'] === undefined, ports);
  for (const wait of waiting.granted) await sendGrant(wait, ports);
  const decision = decideGrants(waiting.gates, {
    nowIso: ports.clock.now().toISOString(),
    counters,
    vCpuQuota: {},
    launchAllowance: LAUNCH_ALLOWANCE,
  });
  if (decision.grants.length > 0 || decision.refusals.length > 0) {
    ports.log.info('grants.decided', { granted: decision.grants.length, refused: decision.refusals.length });
  }
  for (const refusal of decision.refusals) await refuse(refusal, ports);
  for (const wait of decision.grants) {
    await grant(wait, ports);
    await sendGrant(wait, ports);
  }
  if (decision.grants.length === LAUNCH_ALLOWANCE) await ports.events.publish('sweep.changed', {});
}

async function readCounters(ports: Needs): Promise<{ readonly counters: SlotCounters; readonly when: RowCondition }> {
  const row = await findRow(ports.unitStore, rowKeys.slotCounters(), SlotCountersSchema);
  return row === undefined
    ? { counters: EMPTY_COUNTERS, when: 'absent' }
    : { counters: row.value, when: { version: row.version } };
}

async function readGates(
  counters: SlotCounters,
  isThorough: boolean,
  ports: Needs,
): Promise<{ readonly gates: readonly SweepAtGate[]; readonly granted: readonly AdmitWait[] }> {
  const gates: SweepAtGate[] = [];
  const granted: AdmitWait[] = [];
  for await (const active of allRows(ports.unitStore, { pk: 'active-sweeps' })) {
    const { value: sweep } = await readSweep(ports.unitStore, active.sk);
    const free = Math.max(0, sweep.concurrency - (counters.bySweep[sweep.sweepId] ?? 0));
    const isWide = isThorough || Object.keys(sweep.agentConcurrency).length > 0;
    const limit = isWide ? MOST_WAITS : Math.min(MOST_WAITS, free + SPARE_WAITS);
    const page = await ports.unitStore.query({ pk: rowKeys.admitWait(active.sk, '').pk, limit });
    const waits = page.rows.map((row) => readBody(AdmitWaitSchema, row));
    granted.push(...waits.filter((wait) => wait.grantedAttemptId !== null));
    gates.push({
      ...sweep,
      budgetLeftUsd: sweep.budgetUsd === null ? null : sweep.budgetUsd - sweep.spentUsd,
      attemptCostUsd: 0,
      waits: waits
        .filter((wait) => wait.grantedAttemptId === null)
        .sort((one, other) => (one.askedAt < other.askedAt ? -1 : one.askedAt > other.askedAt ? 1 : 0)),
    });
  }
  return { gates, granted };
}

async function grant(wait: AdmitWait, ports: Needs): Promise<void> {
  const { value: unit } = await readUnit(ports.unitStore, wait.sweepId, wait.unitId);
  const { value: sweep } = await readSweep(ports.unitStore, wait.sweepId);
  const now = ports.clock.now();
  const id = attemptId(wait.unitId, wait.attempt);
  const slot = slotOf(wait, now.toISOString());
  const attempt = newAttempt({
    attemptId: id,
    unitId: wait.unitId,
    sweepId: wait.sweepId,
    run: wait.run,
    attempt: wait.attempt,
    agentId: unit.agentId,
    model: unit.model,
    taskPath: unit.taskPath,
    variant: unit.variant,
    requestKey: sweep.requestKey,
    grantedAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + unit.lifeSeconds * 1000).toISOString(),
    provider: unit.provider,
  });
  await withConflictRetry(async () => {
    const { counters, when } = await readCounters(ports);
    await ports.unitStore.write([
      {
        put: { ...rowKeys.admitWait(wait.sweepId, wait.unitId), body: { ...wait, grantedAttemptId: id } },
        when: 'exists',
      },
      { put: { ...rowKeys.slot(wait.unitId), body: slot }, when: 'absent' },
      { put: { ...rowKeys.slotCounters(), body: addToCounters(counters, slot, 1) }, when },
      { put: { ...rowKeys.attempt(id), body: attempt }, when: 'any' },
      { put: { ...rowKeys.openAttempt(id), body: { attemptId: id, sweepId: wait.sweepId } }, when: 'any' },
    ]);
  });
}

type AttemptStart = Pick<
  AttemptRow,
  | 'attemptId'
  | 'unitId'
  | 'sweepId'
  | 'run'
  | 'attempt'
  | 'agentId'
  | 'model'
  | 'taskPath'
  | 'variant'
  | 'requestKey'
  | 'grantedAt'
  | 'expiresAt'
  | 'provider'
>;

function newAttempt(start: AttemptStart): AttemptRow {
  return {
    ...start,
    jobTries: {},
    runDir: null,
    runId: null,
    sandbox: null,
    prompt: null,
    agentStartedAt: null,
    outcome: null,
    agentResult: null,
    collected: null,
    grade: null,
    gradeNumber: 0,
    gradeDurationSeconds: null,
    error: null,
    stageStartedAt: {},
    stageEndedAt: {},
    recordSha256: null,
    verdict: null,
    closedAt: null,
  };
}

/** The wait stays until its token is taken, so that a grant whose message was lost is sent again. */
async function sendGrant(wait: AdmitWait, ports: Needs): Promise<void> {
  const id = attemptId(wait.unitId, wait.attempt);
  const taken = await ports.tokens.succeed(wait.token, { attemptId: id });
  if (!taken) ports.log.warn('token.gone', { unitId: wait.unitId, attemptId: id });
  await forget(wait, ports);
}

async function refuse({ wait, error }: Refusal, ports: Needs): Promise<void> {
  await ports.tokens.fail(wait.token, error, `${wait.unitId} was not started: ${REFUSAL_TEXT[error]}`);
  await forget(wait, ports);
}

/** Removes a wait, unless the unit has asked again with another token meanwhile. */
async function forget(wait: AdmitWait, ports: Needs): Promise<void> {
  const key = rowKeys.admitWait(wait.sweepId, wait.unitId);
  await withConflictRetry(async () => {
    const now = await findRow(ports.unitStore, key, AdmitWaitSchema);
    if (now?.value.token !== wait.token) return;
    await ports.unitStore.write([{ remove: key, when: { version: now.version } }]);
  });
}

const REFUSAL_TEXT: Readonly<Record<Refusal['error'], string>> = {
  DeadlinePassedError: "the sweep's deadline has passed",
  BudgetExhaustedError: "the sweep's budget is used up",
  SweepCancelledError: 'the sweep was cancelled',
};
