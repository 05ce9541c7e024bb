import type { PublishedTask } from '#core/catalog';
import { cleanupRefusal } from '#core/cleanup-mode';
import { LEDGER_CLASSES } from '#core/denominators';
import { ExamHallError } from '#core/errors';
import { objectKeys, rowKeys } from '#core/keys';
import { networkRefusal } from '#core/network-profile';
import { SweepRowSchema, UnitRowSchema, type SweepRow, type UnitRow } from '#core/rows';
import { cardNetworkRefusal, effectiveTimeoutSeconds, readTaskCard, type TaskCard } from '#core/task-card';
import { wallLimitRefusal } from '#core/wall-limit';
import { lifeSeconds, namesOfUnit, unitSeconds, type UnitSeconds } from '#core/unit-plan';
import { withConflictRetry } from '#core/stored-rows';
import type { SweepPayload, SweepPlan, UnitPlanItem } from '#contracts/payloads';
import type { SweepRequest } from '#contracts/sweep-request';
import type { Ports } from '#ports/ports';
import type { RowWrite } from '#ports/unit-store';
import { readAgent, readRequest, readTask, snapshotOf, variantOf } from './steps/inputs.ts';
import { sandboxRefusal, takenBy, type Taken } from './steps/offers.ts';
import { findRow, lastAttemptNumber } from './steps/rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'clock' | 'runTree' | 'events' | 'region' | 'providers'>;

interface PlannedTask {
  readonly task: PublishedTask;
  readonly card: TaskCard;
  readonly seconds: UnitSeconds;
  readonly provider: string;
  readonly taken: Taken;
}

interface Planned {
  readonly row: UnitRow;
  readonly item: UnitPlanItem | null;
}

const UNITS_AT_A_TIME = 100;
/** Ceiling of open units in one map run; grant-slots is the only throttle below it. */
const MAP_CONCURRENCY = 1000;

/**
 * Turns a sweep's request into unit rows and the plan that the map reads. Units that a finished run of the same
 * task revision covers are not planned again. Safe to repeat: it writes the same rows and the same plan.
 * A run that was closed before it was planned, by its owner's cancelling, has nothing to run.
 */
export async function planSweep({ sweepId, run }: SweepPayload, ports: Needs): Promise<SweepPlan> {
  const requestKey = objectKeys.request(sweepId, run);
  const request = await readRequest(ports.artifacts, requestKey);
  const planKey = objectKeys.plan(sweepId, run);
  const nothing: SweepPlan = { unitsToRun: 0, planKey, maxConcurrency: MAP_CONCURRENCY };
  const before = await findRow(ports.unitStore, rowKeys.sweep(sweepId), SweepRowSchema);
  if (isOver(before?.value, run)) return nothing;
  const tasks = await plannedTasks(request, ports);
  for (const agent of request.agents) await readAgent(ports.artifacts, agent.manifestKey);
  const lines: string[] = [];
  const seen = new Set<string>();
  for (const names of inChunks(unitsOf(request))) {
    const planned: Planned[] = [];
    for (const unit of names) planned.push(await planUnit(unit, request, tasks, ports));
    for (const { row } of planned) refuseRepeat(row, seen);
    await ports.unitStore.write(planned.map(({ row }): RowWrite => unitWrite(row)));
    for (const { item } of planned) if (item !== null) lines.push(JSON.stringify(item));
  }
  await ports.artifacts.put({ bucket: 'artifacts', key: planKey }, `${lines.join('\n')}\n`);
  const largestAttemptUsd = largestCostUsd([...tasks.values()]);
  const isOpen = await openSweep(request, { requestKey, plannedUnits: seen.size, largestAttemptUsd }, ports);
  if (!isOpen) return nothing;
  return { unitsToRun: lines.length, planKey, maxConcurrency: MAP_CONCURRENCY };
}

/** Names that differ may be the same once they are folders. */
function refuseRepeat({ unitId, agentId, model, taskPath, variant }: UnitRow, seen: Set<string>): void {
  if (seen.has(unitId)) {
    const what = `agent ${agentId}, model ${String(model)}, task ${taskPath}, variant ${String(variant)}`;
    const message = `two units of the plan have the id ${unitId}; the second is ${what}: rename its agent or task`;
    throw new ExamHallError('DuplicateUnitError', message);
  }
  seen.add(unitId);
}

const unitWrite = (row: UnitRow): RowWrite => ({
  put: { ...rowKeys.unit(row.sweepId, row.unitId), body: row },
  when: 'any',
});

interface NamedUnit {
  readonly agentId: string;
  readonly model: string | null;
  readonly taskPath: string;
  readonly variant: number;
  readonly trial: number;
}

function* unitsOf(request: SweepRequest): Generator<NamedUnit> {
  for (const agent of request.agents)
    for (const task of request.tasks)
      for (const variant of task.variants)
        for (let trial = 1; trial <= request.trials; trial += 1)
          yield { agentId: agent.id, model: agent.model, taskPath: task.path, variant, trial };
}

function* inChunks<T>(items: Iterable<T>): Generator<T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    chunk.push(item);
    if (chunk.length < UNITS_AT_A_TIME) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

async function plannedTasks(request: SweepRequest, ports: Needs): Promise<ReadonlyMap<string, PlannedTask>> {
  const nowIso = ports.clock.now().toISOString();
  const planned = new Map<string, PlannedTask>();
  for (const wanted of request.tasks) {
    const task = await readTask(ports.artifacts, wanted.manifestKey);
    const { card, problems } = readTaskCard(task.card);
    if (problems.length > 0 || card.snapshot === null) {
      const why = problems[0]?.what ?? 'it names no vm.snapshot';
      throw new ExamHallError('TaskCardError', `the card of ${wanted.path} cannot be used: ${why}`);
    }
    const refusal = cardNetworkRefusal(card) ?? networkRefusal(request.network);
    if (refusal !== null) throw new ExamHallError('SandboxRefusedError', `${wanted.path} cannot be run: ${refusal}`);
    for (const variant of wanted.variants) variantOf(task, variant);
    const seconds = unitSeconds({
      nowIso,
      deadlineAt: request.limits.deadlineAt,
      agentTimeoutSeconds: effectiveTimeoutSeconds(card, request.limits.wallTimeSeconds),
      gradingTimeoutSeconds: card.grading.timeoutSeconds,
    });
    const snapshot = snapshotOf(request, card.snapshot);
    const refused =
      cleanupRefusal(snapshot.provider, request.cleanupMode) ??
      wallLimitRefusal(snapshot.provider, effectiveTimeoutSeconds(card, request.limits.wallTimeSeconds));
    if (refused !== null) throw new ExamHallError('SandboxRefusedError', `${wanted.path} cannot be run: ${refused}`);
    const sandbox = sandboxRefusal(card, snapshot, request, ports);
    if (sandbox !== null) throw new ExamHallError('SandboxRefusedError', `${wanted.path} cannot be run: ${sandbox}`);
    const taken = takenBy(card, snapshot, request, ports);
    planned.set(wanted.path, { task, card, seconds, provider: snapshot.provider, taken });
  }
  return planned;
}

async function planUnit(
  unit: NamedUnit,
  request: SweepRequest,
  tasks: ReadonlyMap<string, PlannedTask>,
  ports: Needs,
): Promise<Planned> {
  const planned = tasks.get(unit.taskPath);
  if (planned === undefined) throw new ExamHallError('UnknownTaskError', `no task ${unit.taskPath} in the request`);
  const { unitId, unitDir } = namesOfUnit(request.sweepId, unit, request.trials);
  const inTree = request.treeDir === '.' ? unitDir : `${request.treeDir}/${unitDir}`;
  const before = await findRow(ports.unitStore, rowKeys.unit(request.sweepId, unitId), UnitRowSchema);
  const fresh: UnitRow = {
    ...unit,
    sweepId: request.sweepId,
    unitId,
    run: request.run,
    variantName: variantOf(planned.task, unit.variant).name,
    unitDir: inTree,
    taskRevision: planned.task.revision,
    provider: planned.provider,
    vCpus: planned.taken.vCpus,
    seat: planned.taken.seat,
    lifeSeconds: lifeSeconds(planned.seconds),
    class: 'open',
    notRunReason: null,
    attempts: before === undefined ? 0 : await lastAttemptNumber(ports.unitStore, before.value),
    winningAttemptId: null,
    score: null,
    status: 'not_executed',
    runDir: null,
    closedAt: null,
  };
  const done = request.autoResume ? await finishedUnit(fresh, before?.value, ports) : undefined;
  if (done !== undefined) return { row: done, item: null };
  const item: UnitPlanItem = {
    sweepId: request.sweepId,
    run: request.run,
    unitId,
    firstAttempt: fresh.attempts + 1,
    gradesOnOwnSandbox: planned.card.grading.mode === 'same-sandbox',
    ...planned.seconds,
  };
  return { row: fresh, item };
}

/** The unit as the run tree has it finished, under upstream's rule: completed or timeout, same task revision. */
async function finishedUnit(fresh: UnitRow, before: UnitRow | undefined, ports: Needs): Promise<UnitRow | undefined> {
  const runs = await ports.runTree.finished(fresh.unitDir);
  const run = runs.findLast(
    ({ status, revision }) => (status === 'completed' || status === 'timeout') && revision === fresh.taskRevision,
  );
  if (run === undefined) return undefined;
  if (before?.runDir === run.runDir && before.closedAt !== null) return { ...before, run: fresh.run };
  const known = LEDGER_CLASSES.find((each) => each === run.ledgerClass);
  return {
    ...fresh,
    class: known ?? (run.score === null ? 'task_fault' : 'scored'),
    attempts: Math.max(fresh.attempts, runs.length),
    score: run.score,
    status: run.status,
    runDir: run.runDir,
    closedAt: ports.clock.now().toISOString(),
  };
}

/** Of an attempt of the dearest task; null as soon as one has no price. */
function largestCostUsd(tasks: readonly PlannedTask[]): number | null {
  const costs = tasks.map(({ taken, seconds }) => taken.costUsd(lifeSeconds(seconds)));
  return costs.reduce<number | null>((most, cost) => (most === null || cost === null ? null : Math.max(most, cost)), 0);
}

/** One that failed may be planned again by a redrive; one that was cancelled stays closed. */
function isOver(sweep: SweepRow | undefined, run: number): boolean {
  return sweep?.run === run && sweep.cancelled && sweep.closedAt !== null;
}

/** False for a run that was closed meanwhile. What its owner says at the same time is never lost. */
async function openSweep(
  request: SweepRequest,
  planned: Pick<SweepRow, 'requestKey' | 'plannedUnits' | 'largestAttemptUsd'>,
  ports: Needs,
): Promise<boolean> {
  const isOpen = await withConflictRetry(async () => {
    const before = await findRow(ports.unitStore, rowKeys.sweep(request.sweepId), SweepRowSchema);
    if (isOver(before?.value, request.run)) return false;
    const body = openedRow(request, planned, before?.value, ports.clock.now().toISOString());
    await ports.unitStore.write([
      {
        put: { ...rowKeys.sweep(request.sweepId), body },
        when: before === undefined ? 'absent' : { version: before.version },
      },
      { put: { ...rowKeys.knownSweep(request.sweepId), body: { sweepId: request.sweepId } }, when: 'any' },
      { put: { ...rowKeys.activeSweep(request.sweepId), body: { sweepId: request.sweepId } }, when: 'any' },
    ]);
    return true;
  });
  if (isOpen) await ports.events.publish('sweep.changed', { sweepId: request.sweepId });
  return isOpen;
}

function openedRow(
  request: SweepRequest,
  planned: Pick<SweepRow, 'requestKey' | 'plannedUnits' | 'largestAttemptUsd'>,
  before: SweepRow | undefined,
  nowIso: string,
): SweepRow {
  const same = before?.run === request.run;
  return {
    sweepId: request.sweepId,
    run: request.run,
    name: request.name,
    status: 'running',
    cancelled: same ? before.cancelled : false,
    paused: same ? before.paused : false,
    deadlineAt: request.limits.deadlineAt,
    concurrency: request.limits.concurrency,
    agentConcurrency: request.limits.agentConcurrency,
    budgetUsd: request.limits.budgetUsd,
    spentUsd: before?.spentUsd ?? 0,
    ...planned,
    createdAt: before?.createdAt ?? nowIso,
    closedAt: null,
    executionArn: before?.executionArn ?? null,
    owner: request.owner,
    costCenter: request.costCenter,
    treeDir: request.treeDir,
    error: null,
  };
}
