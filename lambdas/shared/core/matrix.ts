import type { AgentSpec } from './agent-spec.ts';
import type { Experiment } from './experiment.ts';
import { closestName, formatLocation, type LocatedProblem, type Location, problemAt, quoteList } from './located.ts';
import { agentSlug, modelSlug, taskSlug } from './slugs.ts';
import type { TaskSelection } from './task-list.ts';

/** One (agent, task, variant, trial) of an experiment. */
export interface PlannedUnit {
  readonly agent: AgentSpec;
  readonly taskPath: string;
  readonly variant: number;
  /** 1-based. */
  readonly trial: number;
  /** Where the variant is written. */
  readonly at: Location;
}

type Planned = Pick<Experiment, 'agents' | 'tasks'> & { readonly trials?: number };

/** All units in upstream's nesting order: agents, then tasks, then variants, then trials. */
export function enumerateUnits({ agents, tasks, trials = 1 }: Planned): PlannedUnit[] {
  return agents.flatMap((agent) =>
    tasks.flatMap((task) =>
      task.variants.flatMap((variant, index) =>
        Array.from({ length: trials }, (_, trial) => ({
          agent,
          taskPath: task.path,
          variant,
          trial: trial + 1,
          at: task.variantsAt[index] ?? task.at,
        })),
      ),
    ),
  );
}

/** Units of the given agents (exact ids) and tasks (exact paths); an empty list means all. */
export function filterUnits(
  units: readonly PlannedUnit[],
  filter: { readonly agents: readonly string[]; readonly tasks: readonly string[] },
): PlannedUnit[] {
  return units.filter(
    ({ agent, taskPath }) =>
      (filter.agents.length === 0 || filter.agents.includes(agent.id)) &&
      (filter.tasks.length === 0 || filter.tasks.includes(taskPath)),
  );
}

/** Filters that match nothing in the experiment; `at` stands for the command line. */
export function unknownFilters(
  experiment: Planned,
  filter: { readonly agents: readonly string[]; readonly tasks: readonly string[] },
  at: Location,
): LocatedProblem[] {
  const agents = experiment.agents.map(({ id }) => id);
  const tasks = experiment.tasks.map(({ path }) => path);
  const unknown = (flag: string, noun: string, names: readonly string[], known: readonly string[]): LocatedProblem[] =>
    names
      .filter((name) => !known.includes(name))
      .map((name) =>
        problemAt(at, {
          what: `${flag} names no ${noun} of the experiment`,
          got: JSON.stringify(name),
          allowed: quoteList([...new Set(known)]),
          action: suggestion(name, known, `give the ${noun} exactly as the dry run prints it`),
        }),
      );
  return [...unknown('--agent', 'agent', filter.agents, agents), ...unknown('--task', 'task', filter.tasks, tasks)];
}

/** What can be run: agents by harness, tasks by path with their number of variants. */
export interface Catalogue {
  readonly harnesses: readonly string[];
  readonly tasks: ReadonlyMap<string, { readonly variantCount: number }>;
}

/** Agents, tasks and variants of an experiment that the catalogue does not have. */
export function unknownSelections(experiment: Planned, catalogue: Catalogue): LocatedProblem[] {
  const agents = experiment.agents.flatMap((agent) => unknownAgent(agent, catalogue.harnesses));
  return [...agents, ...experiment.tasks.flatMap((task) => unknownTask(task, catalogue))];
}

/** Units that would share one folder and id, each named with both places. */
export function duplicateUnits({ agents, tasks }: Planned): LocatedProblem[] {
  return [...duplicateAgents(agents), ...duplicateTasks(tasks)];
}

function unknownAgent(agent: AgentSpec, harnesses: readonly string[]): LocatedProblem[] {
  const name = agent.harness ?? agent.className ?? '';
  if (agent.harness !== null && harnesses.includes(agent.harness)) return [];
  const what = agent.harness === null ? 'an agent given by "class" cannot run here' : 'unknown agent';
  const action = suggestion(name, harnesses, 'use one of these harnesses, or add a folder for it under agents/');
  return [problemAt(agent.at, { what, got: JSON.stringify(name), allowed: quoteList(harnesses), action }, ['harness'])];
}

function unknownTask(task: TaskSelection, { tasks }: Catalogue): LocatedProblem[] {
  const entry = tasks.get(task.path);
  if (entry === undefined) {
    const known = [...tasks.keys()];
    const action = suggestion(task.path, known, 'name a task that `examhall list` prints');
    const allowed =
      known.length > 12 ? `${quoteList(known.slice(0, 12))} and ${known.length - 12} more` : quoteList(known);
    return [problemAt(task.at, { what: 'unknown task', got: JSON.stringify(task.path), allowed, action })];
  }
  return task.variants.flatMap((variant, index) =>
    variant < entry.variantCount
      ? []
      : problemAt(task.variantsAt[index] ?? task.at, {
          what: `task "${task.path}" has no such variant`,
          got: String(variant),
          allowed: entry.variantCount === 1 ? '0' : `0 to ${entry.variantCount - 1}`,
          action: 'choose a variant it has',
        }),
  );
}

function duplicateAgents(agents: readonly AgentSpec[]): LocatedProblem[] {
  const key = (agent: AgentSpec): string => `${agentSlug(agent.id)}/${modelSlug(agent.model)}`;
  return duplicatesOf(agents, key).map(([first, second]) =>
    problemAt(second.at, {
      what: `agents at ${formatLocation(first.at)} and here give the same units`,
      got: `${describeAgent(first)} and ${describeAgent(second)}, both in folder ${key(second)}`,
      allowed: 'one agent for each id and model, compared as folder names',
      action: 'remove one, or give it an "id" of its own',
    }),
  );
}

function duplicateTasks(tasks: readonly TaskSelection[]): LocatedProblem[] {
  const variants = tasks.flatMap((task) =>
    task.variants.map((variant, index) => ({ path: task.path, variant, at: task.variantsAt[index] ?? task.at })),
  );
  return duplicatesOf(variants, ({ path, variant }) => `${taskSlug(path)}/v${variant}`).map(([first, second]) =>
    problemAt(second.at, {
      what: `the same task and variant is listed at ${formatLocation(first.at)} and here`,
      got: `"${first.path}" v${first.variant} and "${second.path}" v${second.variant}`,
      allowed: 'each task and variant once, compared as folder names',
      action: 'remove one (write "trials: <n>" to run units several times)',
    }),
  );
}

/** Each later item paired with the first of its key. */
function duplicatesOf<Item>(items: readonly Item[], key: (item: Item) => string): (readonly [Item, Item])[] {
  const firsts = new Map<string, Item>();
  return items.flatMap((item) => {
    const first = firsts.get(key(item));
    if (first !== undefined) return [[first, item] as const];
    firsts.set(key(item), item);
    return [];
  });
}

function describeAgent({ id, model }: AgentSpec): string {
  return `"${id}" (${model === null ? 'no model' : `model "${model}"`})`;
}

function suggestion(name: string, known: readonly string[], otherwise: string): string {
  const meant = closestName(name, known);
  return meant === null ? otherwise : `write "${meant}" if you meant that; else ${otherwise}`;
}
