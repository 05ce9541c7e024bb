import type { RequestProblem } from '#core/api-refusal';
import { secretPaths } from '#core/mask-secrets';
import type { DeploymentPolicy } from '#core/policy';
import { cardNetworkRefusal, effectiveTimeoutSeconds } from '#core/task-card';
import { namesOfUnit, type UnitName } from '#core/unit-plan';
import { wallLimitRefusal } from '#core/wall-limit';
import { attemptId } from '#core/ids';
import type { StartSweepBody } from '#contracts/api-schemas';
import { ANY_SNAPSHOT, LONGEST_WALL_SECONDS } from '#contracts/sweep-request';
import type { Wanted, WantedTask } from './api-start-catalogue.ts';

/** A deadline that no unit could meet. */
const SHORTEST_DEADLINE_SECONDS = 60;

/** What the deployment's policy refuses of a request's limits. */
export function limitProblems(
  { limits, costCenter, agents }: StartSweepBody,
  policy: DeploymentPolicy,
): RequestProblem[] {
  const problems: RequestProblem[] = [];
  const refuse = (path: string, message: string): void => {
    problems.push({ path: `body.${path}`, message });
  };
  const { caps, costCenters } = policy;
  if (!costCenters.includes(costCenter)) {
    refuse('costCenter', `${costCenter} is no cost center of this deployment; allowed: ${costCenters.join(', ')}`);
  }
  if (limits.concurrency > caps.sweepConcurrency) {
    const seen = String(limits.concurrency);
    refuse(
      'limits.concurrency',
      `${seen} is over the deployment's cap of ${String(caps.sweepConcurrency)}; ask for less`,
    );
  }
  if ((limits.wallTimeSeconds ?? 0) > LONGEST_WALL_SECONDS) {
    refuse('limits.wallTimeSeconds', `at most ${String(LONGEST_WALL_SECONDS)} seconds are allowed`);
  }
  if (limits.deadlineSeconds < SHORTEST_DEADLINE_SECONDS) {
    refuse(
      'limits.deadlineSeconds',
      `no unit could run before it; at least ${String(SHORTEST_DEADLINE_SECONDS)} seconds are needed`,
    );
  }
  const budget = budgetProblem(limits.budgetUsd, caps.sweepBudgetUsd);
  if (budget !== null) refuse('limits.budgetUsd', budget);
  const ids = new Set(agents.map(({ id, agentId }) => id ?? agentId));
  for (const name of Object.keys(limits.agentConcurrency)) {
    if (!ids.has(name)) refuse(`limits.agentConcurrency.${name}`, `the request has no agent of the id ${name}`);
  }
  return problems;
}

function budgetProblem(budgetUsd: number | null, cap: number | null): string | null {
  if (budgetUsd === null) {
    return cap === null ? null : `this deployment asks for a budget of at most ${String(cap)} USD for each sweep`;
  }
  if (budgetUsd <= 0) return `${String(budgetUsd)} USD would start nothing; give more than 0, or leave it out`;
  if (cap !== null && budgetUsd > cap)
    return `${String(budgetUsd)} USD is over the deployment's cap of ${String(cap)} USD`;
  return null;
}

/** A request is stored, and shown to whoever may read sweeps: what is named or shaped like a secret is refused, and not repeated. */
export function secretProblems({ agents, snapshots, name, promptSuffix }: StartSweepBody): RequestProblem[] {
  const message =
    'holds what looks like a secret, which would be stored with the sweep; remove it (keys are given by the host), or rename the setting if it is none';
  return secretPaths({ agents, snapshots, name, promptSuffix }).map((path) => ({ path: pathText(path), message }));
}

function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, step) => `${text}${typeof step === 'number' ? `[${String(step)}]` : `.${step}`}`,
    'body',
  );
}

/** What cannot be done of the tasks in the environment that the request describes. */
export function taskProblems(body: StartSweepBody, tasks: readonly WantedTask[]): RequestProblem[] {
  return tasks.flatMap(({ path, card }) => {
    const at = `body.tasks[${String(body.tasks.findIndex((wish) => wish.path === path))}].path`;
    const problems: RequestProblem[] = [];
    const network = cardNetworkRefusal(card);
    if (network !== null) problems.push({ path: at, message: `${path} cannot be run: ${network}` });
    const snapshot = card.snapshot === null ? null : snapshotFor(body, card.snapshot);
    if (card.snapshot === null) problems.push({ path: at, message: `the card of ${path} names no vm.snapshot` });
    else if (snapshot === null) {
      const routes = Object.keys(body.snapshots).join(', ');
      const message = `${path} asks for snapshot ${card.snapshot}, which the request does not map; it maps ${routes === '' ? 'none' : routes}`;
      problems.push({ path: at, message });
    } else {
      const seconds = effectiveTimeoutSeconds(card, body.limits.wallTimeSeconds);
      const tooLong = wallLimitRefusal(snapshot.provider, seconds);
      if (tooLong !== null) problems.push({ path: at, message: `${path} cannot be run: ${tooLong}` });
    }
    return problems;
  });
}

/** The snapshot of a request that serves a tag, or null. */
export function snapshotFor(
  { snapshots }: Pick<StartSweepBody, 'snapshots'>,
  tag: string,
): StartSweepBody['snapshots'][string] | null {
  return snapshots[Object.hasOwn(snapshots, tag) ? tag : ANY_SNAPSHOT] ?? null;
}

function plannedUnits({ agents, tasks }: Wanted, trials: number): number {
  return agents.length * trials * tasks.reduce((sum, { variants }) => sum + variants.length, 0);
}

/** Values of EC2 tags end there; machines are tagged with the id of their unit and that of their attempt. */
const LONGEST_ID = 256;
/** As long as every sweep id is. */
const SOME_SWEEP_ID = `sw-${'0'.repeat(26)}`;
/** Far more attempts than resuming ever makes of a unit. */
const SOME_ATTEMPT = 9_999;

/** Units whose ids, or those of their attempts, would not fit into a tag. */
function lengthProblem(name: Omit<UnitName, 'variant' | 'trial'>, variant: number, trials: number): string | null {
  const { unitId } = namesOfUnit(SOME_SWEEP_ID, { ...name, variant, trial: trials }, trials);
  const longest = LONGEST_ID - attemptId('', SOME_ATTEMPT).length;
  if (unitId.length <= longest) return null;
  const { agentId, model, taskPath } = name;
  return `agent ${agentId}, model ${model ?? 'none'} and task ${taskPath} together make unit ids of ${String(unitId.length)} characters; at most ${String(longest)} are allowed: give the agent a shorter id, or use shorter names`;
}

/** Too many units, units that would be one and the same once they are folders, and units whose ids would be too long. */
export function unitProblems(wanted: Wanted, trials: number, { caps }: DeploymentPolicy): RequestProblem[] {
  const planned = plannedUnits(wanted, trials);
  if (planned > caps.unitsPerSweep) {
    const message = `${String(planned)} units are over the deployment's cap of ${String(caps.unitsPerSweep)}; split the sweep`;
    return [{ path: 'body', message }];
  }
  const problems: RequestProblem[] = [];
  const seen = new Map<string, string>();
  for (const [agentAt, { id, model }] of wanted.agents.entries()) {
    for (const [taskAt, { path, variants }] of wanted.tasks.entries()) {
      const name = { agentId: id, model, taskPath: path };
      const tooLong = lengthProblem(name, Math.max(0, ...variants), trials);
      if (tooLong !== null) problems.push({ path: `body.agents[${String(agentAt)}]`, message: tooLong });
      const { unitId } = namesOfUnit('', { ...name, variant: 0, trial: 1 }, 1);
      const here = `agents[${String(agentAt)}] with tasks[${String(taskAt)}]`;
      const before = seen.get(unitId);
      if (before === undefined) seen.set(unitId, here);
      else
        problems.push({
          path: 'body',
          message: `${here} makes the same units as ${before}; rename the agent's id, or leave one out`,
        });
    }
  }
  return problems;
}

const MAX_WARNINGS = 50;

/** What will most likely disappoint, and is allowed. */
export function warningsOf(body: StartSweepBody, { tasks }: Wanted): readonly string[] {
  const warnings: string[] = [];
  for (const { path, published, card, variants } of tasks) {
    const seconds = effectiveTimeoutSeconds(card, body.limits.wallTimeSeconds);
    if (seconds > body.limits.deadlineSeconds) {
      warnings.push(`${path} gives an agent ${String(seconds)} s, which is longer than the time to the deadline`);
    }
    const bare = variants.filter((variant) => published.variants[variant]?.hasReference !== true);
    if (bare.length > 0) warnings.push(`${path} has no reference for variant ${bare.join(', ')}: it will be ungraded`);
  }
  const more = warnings.length - MAX_WARNINGS;
  return more > 0 ? [...warnings.slice(0, MAX_WARNINGS), `${String(more)} more warnings are not shown`] : warnings;
}
