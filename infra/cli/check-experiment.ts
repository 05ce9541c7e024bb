import path from 'node:path';
import { loadTaskCard } from '#cli/config/load-task-card';
import { routeFor } from '#core/environment';
import type { Experiment } from '#core/experiment';
import { ConfigError, problemAt, quoteList, type LocatedProblem } from '#core/located';
import { unknownSelections, type Catalogue } from '#core/matrix';
import { sandboxWishOf } from '#core/sandbox-wish';
import type { TaskCard } from '#core/task-card';

type TaskSelection = Experiment['tasks'][number];

export interface CheckOptions {
  readonly folders: { readonly tasks: readonly string[]; readonly agents: readonly string[] };
  readonly cwd: string;
  /** What was found before; told together with the rest. */
  readonly found: readonly LocatedProblem[];
  /** Whether tasks are loaded in any case; else only to complete a report that there is to be anyway. */
  readonly loadsTasks: boolean;
}

/**
 * Checks what an experiment names against what there is: agents, tasks, cards, snapshots, and variants, for which tasks
 * have to be loaded. Nothing is started or stored.
 * @throws ConfigError with all problems at once; InvalidRequestError for a folder that is none.
 */
export async function checkExperiment(experiment: Experiment, options: CheckOptions): Promise<void> {
  const { catalogueFolders, localCatalogue, taskFolder } = await import('#local/catalogue');
  const folders = await catalogueFolders(options.folders);
  const catalogue = await localCatalogue(folders);
  const problems = [...options.found, ...unknownSelections(experiment, catalogue)];
  const usable = new Map<string, string>();
  for (const task of experiment.tasks) {
    if (!catalogue.tasks.has(task.path) || usable.has(task.path)) continue;
    const folder = await taskFolder(folders, task.path);
    const found = await cardProblems(experiment, task, path.join(folder, 'task_card.json'), options.cwd);
    if (found.length === 0) usable.set(task.path, folder);
    else problems.push(...found);
  }
  if (options.loadsTasks || problems.length > 0) problems.push(...(await loadProblems(experiment, usable, catalogue)));
  if (problems.length > 0) throw new ConfigError(distinct(problems));
}

async function cardProblems(
  experiment: Experiment,
  task: TaskSelection,
  file: string,
  cwd: string,
): Promise<readonly LocatedProblem[]> {
  let card: TaskCard;
  try {
    ({ card } = await loadTaskCard(file, cwd));
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [...unmappedSnapshot(experiment, task, card.snapshot), ...(await refusedSandbox(experiment, task, card))];
}

/** A task whose card, or the experiment, asks for what the provider of its snapshot has not on this computer. */
async function refusedSandbox(
  { environment, network, privilege }: Experiment,
  { path: taskPath, at }: TaskSelection,
  card: TaskCard,
): Promise<readonly LocatedProblem[]> {
  const route = card.snapshot === null ? null : routeFor(environment, card.snapshot);
  if (route === null) return [];
  const { localRefusal } = await import('#local/local-providers');
  const asked = { network: network ?? 'open', privilege: privilege ?? 'restricted' } as const;
  const refusal = localRefusal(route.provider, sandboxWishOf(card, route, asked));
  if (refusal === null) return [];
  return [
    problemAt(at, {
      what: `task "${taskPath}" cannot be run with ${environment.file}`,
      got: refusal,
      allowed: `what provider ${route.provider} gives`,
      action: 'change the environment or the experiment, or leave out the task',
    }),
  ];
}

/** A task whose card asks for a snapshot that the environment does not map. */
export function unmappedSnapshot(
  { environment }: Pick<Experiment, 'environment'>,
  { path: taskPath, at }: TaskSelection,
  snapshot: string | null,
): readonly LocatedProblem[] {
  if (snapshot !== null && routeFor(environment, snapshot) !== null) return [];
  return [
    problemAt(at, {
      what: `no snapshot of ${environment.file} serves task "${taskPath}"`,
      got: `vm.snapshot ${snapshot === null ? 'not set' : JSON.stringify(snapshot)}`,
      allowed: quoteList(Object.keys(environment.snapshots)),
      action: 'map that snapshot to a provider, or leave out the task',
    }),
  ];
}

/** What only the tasks' own code can tell. */
async function loadProblems(
  experiment: Experiment,
  folders: ReadonlyMap<string, string>,
  catalogue: Catalogue,
): Promise<readonly LocatedProblem[]> {
  const { previewTasks } = await import('#local/publish/preview-tasks');
  const previews = await previewTasks(folders);
  const tasks = new Map(catalogue.tasks);
  const problems: LocatedProblem[] = [];
  for (const [taskPath, preview] of previews) {
    if (!(preview instanceof Error)) {
      tasks.set(taskPath, { variantCount: preview.variants.length });
      continue;
    }
    const { at } = experiment.tasks.find((task) => task.path === taskPath) ?? {};
    if (at === undefined || !['TaskCardError', 'TaskLoadError'].includes(preview.name)) throw preview;
    problems.push(
      problemAt(at, {
        what: `task "${taskPath}" cannot be used`,
        got: `${preview.name}: ${preview.message}`,
        allowed: 'a task that loads and names its variants',
        action: 'correct the task, or leave it out',
      }),
    );
  }
  const known = experiment.tasks.filter((task) => previews.has(task.path));
  return [...problems, ...unknownSelections({ ...experiment, agents: [], tasks: known }, { ...catalogue, tasks })];
}

function distinct(problems: readonly LocatedProblem[]): readonly LocatedProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}
