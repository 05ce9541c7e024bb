import { messageOfCause } from '#core/attempt-verdict';
import { agentManifestKey, taskManifestKey, type PublishedTask } from '#core/catalog';
import { agentUnitsOf } from '#core/experiment-request';
import { routesOf } from '#core/environment';
import type { Experiment } from '#core/experiment';
import { ExamHallError } from '#core/errors';
import { attemptId, localSweepId } from '#core/ids';
import { objectKeys, rowKeys, rowPrefixes } from '#core/keys';
import { AttemptRowSchema, SweepRowSchema, UnitRowSchema, type UnitRow } from '#core/rows';
import { ANY_SNAPSHOT, SweepRequestSchema, type SweepRequest } from '#contracts/sweep-request';
import { agentFolder, taskFolder, type CatalogueFolders } from '#local/catalogue';
import { publishAgent } from '#local/publish/publish-agent';
import { publishTask } from '#local/publish/publish-task';
import { codeSha256, EXAM_HALL_VERSION } from './code-version.ts';
import type { Session } from './session.ts';

/** Deadline of a sweep that names none: long enough for any plan, short enough to end. */
const DEFAULT_DEADLINE_SECONDS = 14 * 24 * 3600;

export interface RunFilter {
  readonly agents: readonly string[];
  readonly tasks: readonly string[];
}

export interface PreparedRun {
  readonly request: SweepRequest;
  /** Published tasks by path. */
  readonly tasks: ReadonlyMap<string, PublishedTask>;
}

/** Publishes what the experiment names and writes the request of its next run. Nothing is started. */
export async function prepareRun(
  session: Session,
  experiment: Experiment,
  options: {
    readonly folders: CatalogueFolders;
    readonly filter: RunFilter;
    readonly resume: boolean;
    readonly owner: string;
    readonly costCenter: string;
  },
): Promise<PreparedRun> {
  const store = session.host.ports.artifacts;
  const deps = { store, runner: session.modules, cacheDir: session.bundlesDir };
  const tasks = new Map<string, PublishedTask>();
  const wanted = agentUnitsOf(experiment, options.filter);
  for (const { path: taskPath } of wanted.tasks) {
    tasks.set(taskPath, await publishTask(await taskFolder(options.folders, taskPath), deps));
  }
  const agents: SweepRequest['agents'] = [];
  for (const agent of wanted.agents) {
    const harness = agent.harness ?? agent.id;
    const published = await publishAgent(await agentFolder(options.folders, harness), deps);
    agents.push({
      id: agent.id,
      agentId: published.agentId,
      harness,
      model: agent.model,
      manifestKey: agentManifestKey(published),
      config: { ...agent.config },
    });
  }
  const request = await writeRequest(session, experiment, { agents, tasks, wanted: wanted.tasks, ...options });
  return { request, tasks };
}

interface RequestParts {
  readonly agents: SweepRequest['agents'];
  readonly tasks: ReadonlyMap<string, PublishedTask>;
  readonly wanted: readonly { readonly path: string; readonly variants: readonly number[] }[];
  readonly resume: boolean;
  readonly owner: string;
  readonly costCenter: string;
}

async function writeRequest(session: Session, experiment: Experiment, parts: RequestParts): Promise<SweepRequest> {
  const { unitStore, artifacts, clock } = session.host.ports;
  const sweepId = localSweepId(experiment.name);
  const before = await unitStore.get(rowKeys.sweep(sweepId));
  const run = before === undefined ? 1 : SweepRowSchema.parse(before.body).run + 1;
  const deadlineSeconds = experiment.deadlineSeconds ?? DEFAULT_DEADLINE_SECONDS;
  const request = SweepRequestSchema.parse({
    version: 1,
    sweepId,
    run,
    name: experiment.name,
    owner: parts.owner,
    costCenter: parts.costCenter,
    agents: parts.agents,
    tasks: parts.wanted.map(({ path: taskPath, variants }) => ({
      path: taskPath,
      manifestKey: manifestKeyOf(parts.tasks, taskPath),
      variants: [...variants],
    })),
    trials: experiment.trials,
    snapshots: snapshotsOf(experiment),
    limits: {
      concurrency: experiment.concurrency,
      maxAttempts: parts.resume ? experiment.maxAttempts : 1,
      wallTimeSeconds: experiment.wallTimeSeconds,
      deadlineAt: new Date(clock.now().getTime() + deadlineSeconds * 1000).toISOString(),
      budgetUsd: experiment.budgetUsd,
      agentConcurrency: {},
    },
    promptSuffix: experiment.promptSuffix,
    cleanupMode: experiment.cleanupMode,
    collectOutput: experiment.environment.outputPath === 'local',
    privilege: experiment.privilege ?? 'restricted',
    network: experiment.network ?? 'open',
    treeDir: '.',
    autoResume: parts.resume && experiment.autoResume,
    code: { version: EXAM_HALL_VERSION, sha256: codeSha256() },
  } satisfies SweepRequest);
  await artifacts.put({ bucket: 'artifacts', key: objectKeys.request(sweepId, run) }, JSON.stringify(request));
  return request;
}

function manifestKeyOf(tasks: ReadonlyMap<string, PublishedTask>, taskPath: string): string {
  const task = tasks.get(taskPath);
  if (task === undefined) throw new ExamHallError('UnknownTaskError', `task ${taskPath} was not published`);
  return taskManifestKey(task);
}

function snapshotsOf({ environment }: Experiment): SweepRequest['snapshots'] {
  const snapshots: SweepRequest['snapshots'] = {};
  for (const { tag, route } of routesOf(environment)) {
    const { provider, image, resolution, knobs } = route;
    snapshots[tag ?? ANY_SNAPSHOT] = { provider, image, resolution, knobs: { ...knobs }, os: 'linux' };
  }
  return snapshots;
}

/** What a run says of a unit once it has ended. */
export type EndedUnit = Pick<
  UnitRow,
  | 'unitId'
  | 'agentId'
  | 'model'
  | 'taskPath'
  | 'variant'
  | 'trial'
  | 'class'
  | 'notRunReason'
  | 'status'
  | 'score'
  | 'attempts'
  | 'runDir'
>;

export interface EndedRun {
  readonly units: readonly EndedUnit[];
  /** Units that an earlier run had finished. */
  readonly skippedUnits: number;
  /** Seconds from grant to close of each unit's last attempt, by unit id. */
  readonly durations: ReadonlyMap<string, number>;
  /** How the machine itself ended; units are judged by their rows. */
  readonly executionStatus: string;
  readonly error: string | null;
}

/**
 * Runs a prepared request to its end and reads every unit of the run from the ledger.
 * @throws StorageFullError, StorageReadOnlyError when nothing can be recorded any more; executions are then left as they are.
 */
export async function executeRun(session: Session, { request }: PreparedRun): Promise<EndedRun> {
  const handle = session.host.startSweep(request.sweepId, request.run);
  const result = await Promise.race([handle.done, session.failed]);
  const units: EndedUnit[] = [];
  let cursor: string | undefined;
  do {
    const { pk } = rowKeys.sweep(request.sweepId);
    const query = { pk, skPrefix: rowPrefixes.unit, limit: 500, ...(cursor === undefined ? {} : { cursor }) };
    const page = await session.host.ports.unitStore.query(query);
    const rows = page.rows.map((row) => UnitRowSchema.parse(row.body)).filter((unit) => unit.run === request.run);
    units.push(...rows.map(endedUnit));
    cursor = page.cursor;
  } while (cursor !== undefined);
  const error = result.error === undefined ? null : `${result.error}: ${messageOfCause(result.cause ?? '')}`;
  return { units, ...(await attemptFigures(session, request.run, units)), executionStatus: handle.status, error };
}

function endedUnit(unit: UnitRow): EndedUnit {
  const { unitId, agentId, model, taskPath, variant, trial, class: ledgerClass, notRunReason } = unit;
  const { status, score, attempts, runDir } = unit;
  const named = { unitId, agentId, model, taskPath, variant, trial };
  return { ...named, class: ledgerClass, notRunReason, status, score, attempts, runDir };
}

async function attemptFigures(
  session: Session,
  run: number,
  units: readonly EndedUnit[],
): Promise<Pick<EndedRun, 'durations' | 'skippedUnits'>> {
  const durations = new Map<string, number>();
  let skippedUnits = 0;
  for (const unit of units) {
    if (unit.attempts === 0) continue;
    const row = await session.host.ports.unitStore.get(rowKeys.attempt(attemptId(unit.unitId, unit.attempts)));
    const attempt = row === undefined ? undefined : AttemptRowSchema.parse(row.body);
    if (attempt?.run !== run && unit.status !== 'not_executed') skippedUnits += 1;
    if (attempt === undefined || attempt.closedAt === null) continue;
    durations.set(unit.unitId, (Date.parse(attempt.closedAt) - Date.parse(attempt.grantedAt)) / 1000);
  }
  return { durations, skippedUnits };
}
