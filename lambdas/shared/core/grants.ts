import type { AdmitWait, SlotCounters, SlotRow } from '#core/rows';

/** One active sweep as the grant rule sees it. */
export interface SweepAtGate {
  readonly sweepId: string;
  readonly concurrency: number;
  readonly agentConcurrency: Readonly<Record<string, number>>;
  readonly paused: boolean;
  readonly cancelled: boolean;
  readonly deadlineAt: string;
  /** What has not been spent of the budget; null without a budget. Each slot that is held reserves one attempt's cost of it. */
  readonly unspentUsd: number | null;
  /** What one attempt may cost at most; null when unknown, which a budget then refuses. */
  readonly attemptCostUsd: number | null;
  /** In the order they asked. */
  readonly waits: readonly AdmitWait[];
}

export interface GrantRules {
  readonly nowIso: string;
  readonly counters: SlotCounters;
  /** Running vCPUs allowed by provider; a provider that is absent has no bound. */
  readonly vCpuQuota: Readonly<Record<string, number>>;
  /** How many sandboxes may be launched in this pass, over all sweeps. */
  readonly launchAllowance: number;
  /** How many may be launched in a minute, in any number of passes; a provider that is absent has no bound. */
  readonly launchesPerMinute: Readonly<Record<string, number>>;
  /**
   * By provider whose quota has refused a launch: the share that it gets of its launches in a minute, at least one launch. For a
   * provider without a bound in a minute it is a share of what one pass allows, and the minute has no more.
   */
  readonly brakes: Readonly<Record<string, number>>;
}

export interface Refusal {
  readonly wait: AdmitWait;
  readonly error: 'DeadlinePassedError' | 'BudgetExhaustedError' | 'SweepCancelledError';
}

export interface GrantDecision {
  readonly grants: readonly AdmitWait[];
  readonly refusals: readonly Refusal[];
}

export function agentKey(sweepId: string, agentId: string): string {
  return `${sweepId} ${agentId}`;
}

/**
 * Decides who may start now, one grant after the other: always to the sweep that holds the fewest slots, among equals to
 * the next in turn, so that none starves. Room that only the quota denies to that sweep is kept for it.
 * Never passes a cap, the quota, the allowance or a budget; a wait of a cancelled, late or spent sweep is refused.
 */
export function decideGrants(sweeps: readonly SweepAtGate[], rules: GrantRules): GrantDecision {
  const refusals = sweeps.flatMap((sweep) => refusalsOf(sweep, rules.nowIso));
  const refused = new Set(refusals.map((refusal) => refusal.wait));
  const queues = sweeps
    .filter((sweep) => !sweep.paused)
    .map((sweep): Queue => ({ sweep, waits: sweep.waits.filter((wait) => !refused.has(wait)) }));
  const grants: AdmitWait[] = [];
  let counters = rules.counters;
  while (grants.length < rules.launchAllowance) {
    const wait = takeNext(queues, counters, { ...rules, vCpuQuota: pacedQuota({ ...rules, counters }) });
    if (wait === undefined) break;
    counters = countGrant(counters, slotOf(wait, rules.nowIso));
    grants.push(wait);
  }
  return { grants, refusals };
}

/** A provider whose launches of this minute are used up has no room in it; the units of others pass it by. */
function pacedQuota({ nowIso, counters, brakes, launchesPerMinute, ...rules }: GrantRules): GrantRules['vCpuQuota'] {
  const providers = [...new Set([...Object.keys(brakes), ...Object.keys(launchesPerMinute)])];
  const full = providers.filter((provider) => {
    const bound = countOf(launchesPerMinute, provider, Infinity);
    const shared = Number.isFinite(bound) ? bound : rules.launchAllowance;
    const braked = Object.hasOwn(brakes, provider)
      ? Math.max(1, Math.floor(countOf(brakes, provider) * shared))
      : bound;
    return (windowOf(counters, provider, nowIso)?.granted ?? 0) >= Math.min(braked, bound);
  });
  return { ...rules.vCpuQuota, ...Object.fromEntries(full.map((provider) => [provider, 0])) };
}

const WINDOW_SECONDS = 60;

/** The provider's grants of the minute that is not over yet. */
function windowOf(
  { launches }: SlotCounters,
  provider: string,
  nowIso: string,
): SlotCounters['launches'][string] | null {
  const window = Object.hasOwn(launches, provider) ? launches[provider] : undefined;
  if (window === undefined) return null;
  const ageSeconds = (Date.parse(nowIso) - Date.parse(window.windowStart)) / 1000;
  return ageSeconds < WINDOW_SECONDS ? window : null;
}

/** Counters after a grant. Its slot is given back one day; that it was granted in this minute stays. */
export function countGrant(counters: SlotCounters, slot: SlotRow): SlotCounters {
  const { windowStart, granted } = windowOf(counters, slot.provider, slot.grantedAt) ?? {
    windowStart: slot.grantedAt,
    granted: 0,
  };
  return {
    ...addToCounters(counters, slot, 1),
    lastSweepId: slot.sweepId,
    launches: { ...counters.launches, [slot.provider]: { windowStart, granted: granted + 1 } },
  };
}

interface Queue {
  readonly sweep: SweepAtGate;
  readonly waits: AdmitWait[];
}

function refusalsOf(sweep: SweepAtGate, nowIso: string): Refusal[] {
  const error = refusalOf(sweep, nowIso);
  return error === null ? [] : sweep.waits.map((wait) => ({ wait, error }));
}

function refusalOf(sweep: SweepAtGate, nowIso: string): Refusal['error'] | null {
  if (sweep.cancelled) return 'SweepCancelledError';
  if (nowIso >= sweep.deadlineAt) return 'DeadlinePassedError';
  if (sweep.unspentUsd === null) return null;
  const cost = sweep.attemptCostUsd;
  return cost === null || sweep.unspentUsd <= 0 || cost > sweep.unspentUsd ? 'BudgetExhaustedError' : null;
}

/** Takes the next wait to be granted out of its queue. */
function takeNext(
  queues: readonly Queue[],
  counters: SlotCounters,
  { vCpuQuota: quota }: Pick<GrantRules, 'vCpuQuota'>,
): AdmitWait | undefined {
  const keptFor = new Set<string>();
  for (const { sweep, waits } of queues.toSorted(byTurn(counters))) {
    if (!hasRoom(sweep, counters)) continue;
    const allowed = (wait: AdmitWait): boolean => isAgentAllowed(wait, sweep, counters) && hasSeat(wait, counters);
    const place = waits.findIndex(
      (wait) => allowed(wait) && !keptFor.has(wait.provider) && freeVCpus(wait.provider, counters, quota) >= wait.vCpus,
    );
    if (place >= 0) return waits.splice(place, 1)[0];
    for (const wait of waits) {
      if (allowed(wait) && wait.vCpus <= countOf(quota, wait.provider, Infinity)) keptFor.add(wait.provider);
    }
  }
  return undefined;
}

function byTurn(counters: SlotCounters): (one: Queue, other: Queue) => number {
  const { bySweep, lastSweepId } = counters;
  const hadTurn = (sweepId: string): number => (lastSweepId !== null && sweepId <= lastSweepId ? 1 : 0);
  return ({ sweep: one }, { sweep: other }) =>
    countOf(bySweep, one.sweepId) - countOf(bySweep, other.sweepId) ||
    hadTurn(one.sweepId) - hadTurn(other.sweepId) ||
    (one.sweepId < other.sweepId ? -1 : 1);
}

/** Whether the sweep may hold one slot more. */
function hasRoom(sweep: SweepAtGate, counters: SlotCounters): boolean {
  const held = countOf(counters.bySweep, sweep.sweepId);
  if (held >= sweep.concurrency) return false;
  return sweep.unspentUsd === null || (held + 1) * (sweep.attemptCostUsd ?? Infinity) <= sweep.unspentUsd;
}

function isAgentAllowed(wait: AdmitWait, sweep: SweepAtGate, counters: SlotCounters): boolean {
  const cap = countOf(sweep.agentConcurrency, wait.agentId, Infinity);
  return countOf(counters.byAgent, agentKey(sweep.sweepId, wait.agentId)) < cap;
}

/** A wait without a seat keeps no room for itself: seats do not come free by a quota. */
function hasSeat({ seat }: AdmitWait, { bySeat }: SlotCounters): boolean {
  return seat === null || countOf(bySeat, seat.name) < seat.limit;
}

function freeVCpus(provider: string, counters: SlotCounters, quota: GrantRules['vCpuQuota']): number {
  return countOf(quota, provider, Infinity) - countOf(counters.vCpusByProvider, provider);
}

/** The slot a granted wait takes. */
export function slotOf(wait: AdmitWait, grantedAt: string): SlotRow {
  return {
    unitId: wait.unitId,
    attemptId: `${wait.unitId}.${String(wait.attempt)}`,
    sweepId: wait.sweepId,
    agentId: wait.agentId,
    provider: wait.provider,
    vCpus: wait.vCpus,
    seat: wait.seat?.name ?? null,
    grantedAt,
  };
}

/** Counters after taking (+1) or giving back (-1) a slot; entries at zero are dropped. */
export function addToCounters(counters: SlotCounters, slot: SlotRow, sign: 1 | -1): SlotCounters {
  return {
    ...counters,
    bySweep: addTo(counters.bySweep, slot.sweepId, sign),
    byAgent: addTo(counters.byAgent, agentKey(slot.sweepId, slot.agentId), sign),
    vCpusByProvider: addTo(counters.vCpusByProvider, slot.provider, sign * slot.vCpus),
    bySeat: slot.seat === null ? counters.bySeat : addTo(counters.bySeat, slot.seat, sign),
  };
}

function addTo(counts: Readonly<Record<string, number>>, key: string, amount: number): Record<string, number> {
  const { [key]: _, ...others } = counts;
  const next = countOf(counts, key) + amount;
  return next === 0 ? others : { ...others, [key]: next };
}

/** Keys are names that people choose: `constructor` is one too. */
export function countOf(counts: Readonly<Record<string, number>>, key: string, absent = 0): number {
  return Object.hasOwn(counts, key) ? (counts[key] ?? absent) : absent;
}
