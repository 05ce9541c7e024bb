import { isWithoutBill } from '#core/attempt-cost';
import { countOf, decideGrants, type Refusal, type SweepAtGate } from '#core/grants';
import { attemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { AdmitWaitSchema, type AdmitWait, type SlotCounters } from '#core/rows';
import { readBody, withConflictRetry } from '#core/stored-rows';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { forEachGuarded } from './steps/for-each.ts';
import { grantWait } from './steps/grant-wait.ts';
import { launchBrakes } from './steps/launch-log.ts';
import { allRows, findRow, readSweep } from './steps/rows.ts';
import { readCounters } from './steps/slots.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'events' | 'ids' | 'tokens' | 'policy' | 'log'>;

/** Grants in one pass; more wait for the next pass, which each grant's own traffic brings about. */
const LAUNCH_ALLOWANCE = 50;
/** EC2 takes two launches a second, over a day; what it refuses is only tried again. */
const LAUNCHES_PER_MINUTE = { aws: 120 } as const;
/** Most waits looked at per sweep and pass. */
const MOST_WAITS = 1000;
/** Waits looked at beyond the free slots, so that a few refused or granted ones do not hide the others. */
const SPARE_WAITS = 10;

/**
 * The only throttle. Runs one at a time: sends tokens that were granted but not taken, refuses what cannot start any
 * more, and grants what fits, each grant in one transaction with its slot, attempt and counters.
 */
export async function grantSlots(tick: TickPayload, ports: Needs): Promise<void> {
  const { counters } = await readCounters(ports.unitStore);
  const waiting = await readGates(counters, tick['sweepId'] === undefined, ports);
  const decision = decideGrants(waiting.gates, {
    nowIso: ports.clock.now().toISOString(),
    counters,
    vCpuQuota: ports.policy.caps.vCpusByProvider,
    launchAllowance: LAUNCH_ALLOWANCE,
    launchesPerMinute: LAUNCHES_PER_MINUTE,
    brakes: await launchBrakes(ports),
  });
  if (decision.grants.length > 0 || decision.refusals.length > 0) {
    ports.log.info('grants.decided', { granted: decision.grants.length, refused: decision.refusals.length });
  }
  const acts: Act[] = [
    ...waiting.granted.map((wait): Act => ({ wait, run: async () => await sendGrant(wait, ports) })),
    ...decision.refusals.map((refusal): Act => ({ wait: refusal.wait, run: async () => await refuse(refusal, ports) })),
    ...decision.grants.map((wait): Act => ({ wait, run: async () => await grant(wait, ports) })),
  ];
  if (decision.grants.length === LAUNCH_ALLOWANCE) await ports.events.publish('sweep.changed', {});
  await forEachGuarded(acts, async (act) => await act.run(), {
    atOnce: 1,
    onFailure: ({ wait }, error) => ports.log.error('grant.failed', { unitId: wait.unitId, message: String(error) }),
  });
}

interface Act {
  readonly wait: AdmitWait;
  run(): Promise<void>;
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
    const free = Math.max(0, sweep.concurrency - countOf(counters.bySweep, sweep.sweepId));
    const isWide = isThorough || Object.keys(sweep.agentConcurrency).length > 0;
    const limit = isWide ? MOST_WAITS : Math.min(MOST_WAITS, free + SPARE_WAITS);
    const page = await ports.unitStore.query({ pk: rowKeys.admitWait(active.sk, '').pk, limit });
    const waits = page.rows.map((row) => readBody(AdmitWaitSchema, row));
    granted.push(...waits.filter((wait) => wait.grantedAttemptId !== null));
    gates.push({
      ...sweep,
      unspentUsd: sweep.budgetUsd === null ? null : sweep.budgetUsd - sweep.spentUsd,
      attemptCostUsd: sweep.largestAttemptUsd ?? costWithoutPrice(waits),
      waits: waits
        .filter((wait) => wait.grantedAttemptId === null)
        .sort((one, other) => (one.askedAt < other.askedAt ? -1 : one.askedAt > other.askedAt ? 1 : 0)),
    });
  }
  return { gates, granted };
}

/** Machines that nobody bills need no price. */
function costWithoutPrice(waits: readonly AdmitWait[]): number | null {
  return waits.every(({ provider }) => isWithoutBill(provider)) ? 0 : null;
}

async function grant(asked: AdmitWait, ports: Needs): Promise<void> {
  const granted = await grantWait(asked, ports);
  if (granted !== undefined) await sendGrant(granted, ports);
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
