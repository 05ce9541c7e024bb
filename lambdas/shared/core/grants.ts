import type { AdmitWait, SlotCounters, SlotRow } from '#core/rows';

/** One active sweep as the grant rule sees it. */
export interface SweepAtGate {
  readonly sweepId: string;
  readonly concurrency: number;
  readonly agentConcurrency: Readonly<Record<string, number>>;
  readonly paused: boolean;
  readonly cancelled: boolean;
  readonly deadlineAt: string;
  /** What the budget has left after spent and reserved money; null without a budget. */
  readonly budgetLeftUsd: number | null;
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
 * Decides who may start now: sweeps in turn, one grant each per round, so that none starves.
 * Never passes a cap, the quota, the allowance or a budget; a wait of a cancelled or late sweep is refused.
 */
export function decideGrants(sweeps: readonly SweepAtGate[], rules: GrantRules): GrantDecision {
  const refusals = sweeps.flatMap((sweep) => refusalsOf(sweep, rules.nowIso));
  const refused = new Set(refusals.map((refusal) => refusal.wait));
  const queues = sweeps
    .filter((sweep) => !sweep.paused)
    .map((sweep) => ({ sweep, waits: sweep.waits.filter((wait) => !refused.has(wait)), reservedUsd: 0 }));
  const grants: AdmitWait[] = [];
  let counters = rules.counters;
  for (let progress = true; progress && grants.length < rules.launchAllowance;) {
    progress = false;
    for (const queue of queues) {
      if (grants.length >= rules.launchAllowance) break;
      const place = queue.waits.findIndex((wait) => fits(wait, queue.sweep, counters, rules, queue.reservedUsd));
      const wait = queue.waits[place];
      if (wait === undefined) continue;
      queue.waits.splice(place, 1);
      queue.reservedUsd += queue.sweep.attemptCostUsd ?? 0;
      counters = addToCounters(counters, slotOf(wait, ''), 1);
      grants.push(wait);
      progress = true;
    }
  }
  return { grants, refusals };
}

function refusalsOf(sweep: SweepAtGate, nowIso: string): Refusal[] {
  if (sweep.cancelled) return sweep.waits.map((wait) => ({ wait, error: 'SweepCancelledError' }));
  if (nowIso >= sweep.deadlineAt) return sweep.waits.map((wait) => ({ wait, error: 'DeadlinePassedError' }));
  if (sweep.budgetLeftUsd === null) return [];
  const unknown = sweep.attemptCostUsd === null;
  if (unknown || sweep.budgetLeftUsd <= 0) return sweep.waits.map((wait) => ({ wait, error: 'BudgetExhaustedError' }));
  return [];
}

function fits(
  wait: AdmitWait,
  sweep: SweepAtGate,
  counters: SlotCounters,
  rules: GrantRules,
  reservedUsd: number,
): boolean {
  if ((counters.bySweep[sweep.sweepId] ?? 0) >= sweep.concurrency) return false;
  const agentCap = sweep.agentConcurrency[wait.agentId];
  if (agentCap !== undefined && (counters.byAgent[agentKey(sweep.sweepId, wait.agentId)] ?? 0) >= agentCap)
    return false;
  const quota = rules.vCpuQuota[wait.provider];
  if (quota !== undefined && (counters.vCpusByProvider[wait.provider] ?? 0) + wait.vCpus > quota) return false;
  if (sweep.budgetLeftUsd === null) return true;
  return reservedUsd + (sweep.attemptCostUsd ?? 0) <= sweep.budgetLeftUsd;
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
    grantedAt,
  };
}

/** Counters after taking (+1) or giving back (-1) a slot; entries at zero are dropped. */
export function addToCounters(counters: SlotCounters, slot: SlotRow, sign: 1 | -1): SlotCounters {
  return {
    bySweep: addTo(counters.bySweep, slot.sweepId, sign),
    byAgent: addTo(counters.byAgent, agentKey(slot.sweepId, slot.agentId), sign),
    vCpusByProvider: addTo(counters.vCpusByProvider, slot.provider, sign * slot.vCpus),
  };
}

function addTo(counts: Readonly<Record<string, number>>, key: string, amount: number): Record<string, number> {
  const { [key]: now = 0, ...others } = counts;
  const next = now + amount;
  return next === 0 ? others : { ...others, [key]: next };
}
