import type { RequestProblem } from '#core/api-refusal';
import { effectiveTimeoutSeconds } from '#core/task-card';
import { lifeSeconds, unitSeconds } from '#core/unit-plan';
import type { StartSweepBody } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import type { Wanted, WantedTask } from './api-start-catalogue.ts';
import { snapshotFor } from './api-start-checks.ts';
import { sandboxRefusal, takenBy } from './offers.ts';

type Needs = Pick<Ports, 'clock' | 'region' | 'providers'>;

/** Tasks whose sandbox the provider cannot give, by what it says before anything is launched. */
export function sandboxProblems(
  body: StartSweepBody,
  { tasks }: Wanted,
  ports: Pick<Needs, 'providers'>,
): readonly RequestProblem[] {
  return tasks.flatMap(({ path, card }) => {
    const snapshot = snapshotFor(body, card.snapshot ?? '');
    const refusal = snapshot === null ? null : sandboxRefusal(card, snapshot, body, ports);
    if (refusal === null) return [];
    const at = body.tasks.findIndex((wish) => wish.path === path);
    return [{ path: `body.tasks[${String(at)}].path`, message: `${path} cannot be run: ${refusal}` }];
  });
}

/** Tasks whose sandbox alone takes more vCPUs than may ever run at once: their units would wait until the deadline. */
export function quotaProblems(
  body: StartSweepBody,
  { tasks }: Wanted,
  ports: Needs & Pick<Ports, 'policy'>,
): readonly RequestProblem[] {
  const { vCpusByProvider } = ports.policy.caps;
  return tasks.flatMap(({ path, card }) => {
    const snapshot = snapshotFor(body, card.snapshot ?? '');
    const { provider } = snapshot ?? { provider: '' };
    const cap = Object.hasOwn(vCpusByProvider, provider) ? vCpusByProvider[provider] : undefined;
    if (snapshot === null || cap === undefined) return [];
    const { vCpus } = takenBy(card, snapshot, body, ports);
    if (vCpus <= cap) return [];
    const at = body.tasks.findIndex((wish) => wish.path === path);
    const message = `${path} cannot be run: its sandbox takes ${String(vCpus)} vCPUs, and provider ${provider} may run ${String(cap)} at once in this deployment; use a smaller machine, or raise policy.caps.vCpusByProvider.${provider} of the settings`;
    return [{ path: `body.tasks[${String(at)}].path`, message }];
  });
}

/**
 * A budget that the dearest attempt does not fit into, of which nothing is ever granted. Says no amount: a request may come from
 * somebody who may not see costs.
 */
export function budgetWarnings(body: StartSweepBody, { tasks }: Wanted, ports: Needs): readonly string[] {
  const { budgetUsd } = body.limits;
  if (budgetUsd === null) return [];
  const tooDear = tasks.filter((task) => (attemptUsd(body, task, ports) ?? 0) > budgetUsd).map(({ path }) => path);
  const [first] = tooDear;
  if (first === undefined) return [];
  const more = tooDear.length === 1 ? '' : ` (and of ${String(tooDear.length - 1)} more tasks)`;
  return [
    `the budget is less than one attempt of ${first}${more} may cost, so no unit of the sweep will start, and all end as not_run (budget)`,
  ];
}

/** A budget is reserved by what an attempt may cost at most; where nobody knows that, nothing would ever be granted. */
export function priceProblems(body: StartSweepBody, { tasks }: Wanted, ports: Needs): readonly RequestProblem[] {
  if (body.limits.budgetUsd === null) return [];
  const unpriced = tasks.find((task) => isRouted(body, task) && attemptUsd(body, task, ports) === null);
  if (unpriced === undefined) return [];
  const message = `nothing says what an attempt of ${unpriced.path} costs at most, so a budget would let none start; leave it out, or add the price of its machine (examhall prices refresh)`;
  return [{ path: 'body.limits.budgetUsd', message }];
}

/** The most the whole sweep may cost by the price sheet, every retry included; null where it does not say. */
export function largestCostUsd(body: StartSweepBody, { agents, tasks }: Wanted, ports: Needs): number | null {
  const attempts = agents.length * body.trials * body.limits.maxAttempts;
  return tasks.reduce<number | null>((sum, task) => {
    const usd = attemptUsd(body, task, ports);
    return sum === null || usd === null ? null : sum + usd * attempts * task.variants.length;
  }, 0);
}

function isRouted(body: StartSweepBody, { card }: WantedTask): boolean {
  return card.snapshot !== null && snapshotFor(body, card.snapshot) !== null;
}

/** The most one attempt of a task may cost. */
function attemptUsd(body: StartSweepBody, { card }: WantedTask, ports: Needs): number | null {
  const snapshot = snapshotFor(body, card.snapshot ?? '');
  if (snapshot === null) return null;
  const now = ports.clock.now();
  const seconds = unitSeconds({
    nowIso: now.toISOString(),
    deadlineAt: new Date(now.getTime() + body.limits.deadlineSeconds * 1000).toISOString(),
    agentTimeoutSeconds: effectiveTimeoutSeconds(card, body.limits.wallTimeSeconds),
    gradingTimeoutSeconds: card.grading.timeoutSeconds,
  });
  return takenBy(card, snapshot, body, ports).costUsd(lifeSeconds(seconds));
}
