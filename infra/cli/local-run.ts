import os from 'node:os';
import path from 'node:path';
import type { Experiment } from '#core/experiment';
import { enumerateUnits, filterUnits, unknownSelections, type Catalogue } from '#core/matrix';
import type { PublishedTask } from '#core/catalog';
import { ConfigError } from '#core/located';
import { readTaskCard } from '#core/task-card';
import { unmappedSnapshot } from '#cli/check-experiment';
import { makeOutputFolder } from '#cli/output-folder';
import { Progress } from '#cli/progress';
import { openUnlessStopped, releaseOpen, untilStopped } from '#cli/stop-signals';
import type { CatalogueFolders } from '#local/catalogue';
import type { EndedUnit } from '#local/run-experiment';
import type { Session } from '#local/session';

export interface LocalRun {
  readonly experiment: Experiment;
  readonly treeRoot: string;
  readonly units: readonly EndedUnit[];
  readonly executionStatus: string;
  readonly error: string | null;
  readonly closedAttempts: readonly string[];
  readonly skippedUnits: number;
  /** Seconds from grant to record of each unit's last attempt, by unit id. */
  readonly durations: ReadonlyMap<string, number>;
  readonly seconds: Readonly<Record<string, number>>;
}

export interface LocalRunOptions {
  readonly filter: { readonly agents: readonly string[]; readonly tasks: readonly string[] };
  /** Folders of tasks and agents besides this repository's. */
  readonly folders: { readonly tasks: readonly string[]; readonly agents: readonly string[] };
  readonly resume: boolean;
  readonly quiet: boolean;
}

/** Runs an experiment through the embedded host, telling its progress on standard error. */
export async function runOnThisComputer(experiment: Experiment, options: LocalRunOptions): Promise<LocalRun> {
  const { storageFaultOf } = await import('#local/storage-watch');
  const treeRoot = path.join(experiment.outputRoot, experiment.name);
  const progress = new Progress(options.quiet ? null : process.stderr);
  const started = performance.now();
  const opening = openUnlessStopped(async () => await openFor(experiment, options, progress));
  const { session, folders, catalogue } = await opening;
  try {
    const work = runInSession({ session, experiment, options, folders, catalogue, progress, started });
    const ended = await untilStopped(session, work, (line) => {
      progress.line(line);
    });
    return { experiment, treeRoot, closedAttempts: session.recovery.closedAttempts, ...ended };
  } catch (error) {
    const fault = storageFaultOf(error, treeRoot);
    const left = fault === undefined ? [] : await releaseOpen(session);
    for (const what of left) progress.line(`not released: ${what}; the next run does it`);
    throw fault ?? error;
  } finally {
    progress.end();
    await session.close();
  }
}

interface Opened {
  readonly session: Session;
  readonly folders: CatalogueFolders;
  readonly catalogue: Catalogue;
}

async function openFor(
  experiment: Experiment,
  { folders: others }: LocalRunOptions,
  progress: Progress,
): Promise<Opened> {
  const { openSession } = await import('#local/session');
  const { catalogueFolders, localCatalogue } = await import('#local/catalogue');
  const folders = await catalogueFolders(others);
  const catalogue = await localCatalogue(folders);
  refuseUnknown(experiment, catalogue);
  makeOutputFolder(experiment);
  const session = await openSession({
    treeRoot: path.join(experiment.outputRoot, experiment.name),
    onLog: (event, fields) => {
      progress.log(event, fields);
    },
  });
  return { session, folders, catalogue };
}

interface Running extends Opened {
  readonly experiment: Experiment;
  readonly options: LocalRunOptions;
  readonly progress: Progress;
  /** As `performance.now()` has it. */
  readonly started: number;
}

async function runInSession(running: Running): Promise<Omit<LocalRun, 'experiment' | 'treeRoot' | 'closedAttempts'>> {
  const { session, experiment, options, folders, catalogue, progress } = running;
  const { executeRun, prepareRun } = await import('#local/run-experiment');
  for (const attempt of session.recovery.closedAttempts)
    progress.line(`closed ${attempt}: its host had ended (host-restarted)`);
  for (const attempt of session.recovery.settledAttempts)
    progress.line(`closed ${attempt}: its host had ended after it was over`);
  const { filter, resume } = options;
  const asked = { folders, filter, resume, owner: ownerName(), costCenter: 'local' };
  const prepared = await prepareRun(session, experiment, asked);
  refuseUnknown(experiment, { ...catalogue, tasks: new Map([...catalogue.tasks, ...variantCounts(prepared.tasks)]) });
  refuseUnmapped(experiment, prepared.tasks);
  const preparedAt = performance.now();
  progress.start(filterUnits(enumerateUnits(experiment), filter).length);
  const ended = await executeRun(session, prepared);
  progress.end();
  const prepare = (preparedAt - running.started) / 1000;
  const run = (performance.now() - preparedAt) / 1000;
  return {
    ...ended,
    units: inPlannedOrder(ended.units, experiment),
    seconds: { prepare, run, ...progress.stageSeconds() },
  };
}

/** Who runs this; a user that the computer has no name for goes by number. */
function ownerName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return `uid-${String(process.getuid?.() ?? 'unknown')}`;
  }
}

/** As upstream lists them: agents, then tasks, then variants, then trials, each as the experiment has them. */
function inPlannedOrder(units: readonly EndedUnit[], experiment: Experiment): readonly EndedUnit[] {
  const keyOf = (unit: Pick<EndedUnit, 'agentId' | 'model' | 'taskPath' | 'variant' | 'trial'>): string =>
    JSON.stringify([unit.agentId, unit.model, unit.taskPath, unit.variant, unit.trial]);
  const planned = enumerateUnits(experiment).map(({ agent, ...unit }) =>
    keyOf({ ...unit, agentId: agent.id, model: agent.model }),
  );
  const places = new Map(planned.map((key, place) => [key, place]));
  const placeOf = (unit: EndedUnit): number => places.get(keyOf(unit)) ?? planned.length;
  return units.toSorted((one, other) => placeOf(one) - placeOf(other));
}

function refuseUnknown(experiment: Experiment, catalogue: Catalogue): void {
  const problems = unknownSelections(experiment, catalogue);
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Tasks whose card asks for a snapshot that the environment does not map. */
function refuseUnmapped(experiment: Experiment, published: ReadonlyMap<string, PublishedTask>): void {
  const problems = experiment.tasks.flatMap((task) => {
    const card = published.get(task.path)?.card;
    return card === undefined ? [] : unmappedSnapshot(experiment, task, readTaskCard(card).card.snapshot);
  });
  if (problems.length > 0) throw new ConfigError(problems);
}

function variantCounts(
  tasks: ReadonlyMap<string, { readonly variants: readonly unknown[] }>,
): [string, { readonly variantCount: number }][] {
  return [...tasks].map(([taskPath, { variants }]) => [taskPath, { variantCount: variants.length }]);
}
