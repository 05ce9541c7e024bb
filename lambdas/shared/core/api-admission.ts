import { agentKey, countOf } from './grants.ts';
import type { DeploymentPolicy } from './policy.ts';
import type { AdmitWait, SlotCounters, SweepRow } from './rows.ts';

export interface AdmissionFacts {
  readonly sweep: SweepRow;
  readonly wait: AdmitWait;
  readonly counters: SlotCounters;
  readonly caps: DeploymentPolicy['caps'];
  /** Ungranted waits of the sweep that asked before this one. */
  readonly before: number;
  readonly nowIso: string;
}

/** Why a unit that asked for a slot has none yet: the first rule of the gate that keeps it out. Tells no amounts. */
export function admissionText({ sweep, wait, counters, caps, before, nowIso }: AdmissionFacts): string {
  if (wait.grantedAttemptId !== null) return 'its slot is granted; the token is on its way';
  if (sweep.cancelled) return 'the sweep was cancelled; it will be refused';
  if (nowIso >= sweep.deadlineAt)
    return `the deadline of the sweep (${sweep.deadlineAt}) has passed; it will be refused`;
  if (sweep.paused) return 'the sweep is paused; nothing is granted until it is resumed';
  const held = countOf(counters.bySweep, sweep.sweepId);
  const queue = before === 0 ? 'it is the next of its sweep' : `${String(before)} units of its sweep asked before it`;
  if (held >= sweep.concurrency) {
    return `concurrency: the sweep holds all its ${String(sweep.concurrency)} slots; ${queue}`;
  }
  const agentCap = countOf(sweep.agentConcurrency, wait.agentId, Infinity);
  if (countOf(counters.byAgent, agentKey(sweep.sweepId, wait.agentId)) >= agentCap) {
    return `agent concurrency: ${wait.agentId} holds all its ${String(agentCap)} slots; ${queue}`;
  }
  const quota = countOf(caps.vCpusByProvider, wait.provider, Infinity);
  const used = countOf(counters.vCpusByProvider, wait.provider);
  if (used + wait.vCpus > quota) {
    return `vCPU quota: ${wait.provider} has ${String(used)} of ${String(quota)} in use, and the unit needs ${String(wait.vCpus)}; ${queue}`;
  }
  const { seat } = wait;
  if (seat !== null && countOf(counters.bySeat, seat.name) >= seat.limit) {
    return `seats: all ${String(seat.limit)} of ${seat.name} are taken; ${queue}`;
  }
  if (isBudgetHeld(sweep, held)) return `budget: what is left is reserved by the units that run; ${queue}`;
  return `its turn: ${queue}, and slots go round between sweeps`;
}

/** A held slot reserves what an attempt may cost at most. */
function isBudgetHeld({ budgetUsd, spentUsd, largestAttemptUsd }: SweepRow, held: number): boolean {
  if (budgetUsd === null) return false;
  const unspent = budgetUsd - spentUsd;
  return unspent <= 0 || (held + 1) * (largestAttemptUsd ?? Infinity) > unspent;
}
