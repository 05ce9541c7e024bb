import { refuseIfAny } from '#core/api-refusal';
import { canonicalJson } from '#core/canonical-json';
import { isErrorNamed } from '#core/errors';
import { objectKeys, rowKeys } from '#core/keys';
import type { Permission } from '#core/policy';
import { SweepRowSchema, type SweepRow } from '#core/rows';
import { withConflictRetry } from '#core/stored-rows';
import type { StartedSweep, StartSweepBody } from '#contracts/api-schemas';
import type { SweepRequest } from '#contracts/sweep-request';
import type { Ports } from '#ports/ports';
import type { RowWrite } from '#ports/unit-store';
import { holdKey, type HeldKey } from './api-idempotency.ts';
import type { ApiCall } from './api-operation.ts';
import { findWanted, type Wanted } from './api-start-catalogue.ts';
import { limitProblems, secretProblems, taskProblems, unitProblems, warningsOf } from './api-start-checks.ts';
import { environmentProblems } from './api-start-environment.ts';
import { budgetWarnings, largestCostUsd, priceProblems, quotaProblems, sandboxProblems } from './api-start-costs.ts';
import { revisionInKey, storedRequest } from './api-stored.ts';
import { findRow } from './rows.ts';

export type StartPorts = Pick<
  Ports,
  | 'unitStore'
  | 'artifacts'
  | 'executions'
  | 'providers'
  | 'clock'
  | 'ids'
  | 'digest'
  | 'policy'
  | 'code'
  | 'region'
  | 'log'
>;

const FIRST_RUN = 1;

/**
 * Starts a sweep, or says all that keeps it from starting. Answers once its machine has been started, and never waits for
 * it. The same idempotency key with the same body answers with the same sweep, and starts it if that was cut off.
 * @throws ApiRefusal RequestRefusedError, IdempotencyConflictError.
 */
export async function startSweep(call: ApiCall<unknown, StartSweepBody>, ports: StartPorts): Promise<StartedSweep> {
  const { body, principalArn } = call;
  const bodySha256 = ports.digest.sha256(canonicalJson(body));
  const asked = { principalArn, key: body.dryRun ? null : call.idempotencyKey, bodySha256 };
  const held = await holdKey(asked, ports);
  const before = held?.before ?? null;
  if (before !== null) return await startAgain(before, call.permissions, ports);
  const wanted = await findWanted(body, ports);
  refuseIfAny([
    ...limitProblems(body, ports.policy),
    ...secretProblems(body),
    ...environmentProblems(body, ports.providers),
    ...wanted.problems,
    ...taskProblems(body, wanted.tasks),
    ...(wanted.problems.length > 0 ? [] : unitProblems(wanted, body.trials, ports.policy)),
    ...sandboxProblems(body, wanted, ports),
    ...quotaProblems(body, wanted, ports),
    ...priceProblems(body, wanted, ports),
  ]);
  const warnings = [...budgetWarnings(body, wanted, ports), ...warningsOf(body, wanted)];
  const told = { warnings, largestCostUsd: largestCostUsd(body, wanted, ports) };
  const request = requestOf(`sw-${ports.ids.next()}`, call, wanted, ports);
  if (body.dryRun) return answerOf(request, told, { ...call, dryRun: true });
  try {
    await accept(request, held?.take(request.sweepId, told), ports);
  } catch (error) {
    // Somebody else has taken the key meanwhile.
    const winner = isErrorNamed(error, 'ConditionFailedError') ? ((await holdKey(asked, ports))?.before ?? null) : null;
    if (winner === null) throw error;
    return await startAgain(winner, call.permissions, ports);
  }
  await start(request, ports);
  return answerOf(request, told, { ...call, dryRun: false });
}

/** The key has started a sweep before; a start that was cut off is made good. */
async function startAgain(
  before: NonNullable<HeldKey['before']>,
  permissions: ReadonlySet<Permission>,
  ports: StartPorts,
): Promise<StartedSweep> {
  const request = await storedRequest(ports, objectKeys.request(before.sweepId, FIRST_RUN));
  await start(request, ports);
  return answerOf(request, before, { dryRun: false, permissions });
}

/** The request first: a sweep that has a row can always be started from it. */
async function accept(request: SweepRequest, key: RowWrite | undefined, ports: StartPorts): Promise<void> {
  const { sweepId } = request;
  const requestKey = objectKeys.request(sweepId, FIRST_RUN);
  await ports.artifacts.put({ bucket: 'artifacts', key: requestKey }, JSON.stringify(request));
  const row: SweepRow = SweepRowSchema.parse({
    sweepId,
    run: FIRST_RUN,
    name: request.name,
    status: 'accepted',
    cancelled: false,
    paused: false,
    deadlineAt: request.limits.deadlineAt,
    concurrency: request.limits.concurrency,
    agentConcurrency: request.limits.agentConcurrency,
    budgetUsd: request.limits.budgetUsd,
    spentUsd: 0,
    plannedUnits: unitsOf(request),
    requestKey,
    createdAt: ports.clock.now().toISOString(),
    closedAt: null,
    executionArn: null,
    owner: request.owner,
    costCenter: request.costCenter,
    treeDir: request.treeDir,
    error: null,
  } satisfies Partial<SweepRow>);
  await ports.unitStore.write([
    ...(key === undefined ? [] : [key]),
    { put: { ...rowKeys.sweep(sweepId), body: row }, when: 'absent' },
    { put: { ...rowKeys.knownSweep(sweepId), body: { sweepId } }, when: 'any' },
  ]);
  ports.log.info('sweep.accepted', { sweepId, owner: request.owner, units: row.plannedUnits });
}

/** Starts the machine under a name of the sweep's own, so that no repeat starts a second one. */
async function start(request: SweepRequest, { unitStore, executions }: StartPorts): Promise<void> {
  const { sweepId } = request;
  const key = rowKeys.sweep(sweepId);
  const before = await findRow(unitStore, key, SweepRowSchema);
  if (before === undefined || before.value.executionArn !== null || before.value.closedAt !== null) return;
  const input = { sweepId, run: FIRST_RUN };
  const { executionArn } = await executions.start('sweep', `${sweepId}-r${String(FIRST_RUN)}`, input);
  await withConflictRetry(async () => {
    const now = await findRow(unitStore, key, SweepRowSchema);
    if (now === undefined || now.value.executionArn !== null) return;
    await unitStore.write([{ put: { ...key, body: { ...now.value, executionArn } }, when: { version: now.version } }]);
  });
}

function requestOf(
  sweepId: string,
  { body, principalArn }: ApiCall<unknown, StartSweepBody>,
  wanted: Wanted,
  { clock, code }: StartPorts,
): SweepRequest {
  const { deadlineSeconds, ...limits } = body.limits;
  return {
    version: 1,
    sweepId,
    run: FIRST_RUN,
    name: body.name,
    owner: principalArn,
    costCenter: body.costCenter,
    agents: wanted.agents.map(({ id, model, config, published, manifestKey }) => ({
      id,
      agentId: published.agentId,
      harness: published.manifest.harness,
      model,
      manifestKey,
      config: { ...config },
    })),
    tasks: wanted.tasks.map(({ path, manifestKey, variants }) => ({ path, manifestKey, variants: [...variants] })),
    trials: body.trials,
    snapshots: body.snapshots,
    limits: { ...limits, deadlineAt: new Date(clock.now().getTime() + deadlineSeconds * 1000).toISOString() },
    promptSuffix: body.promptSuffix,
    cleanupMode: body.cleanupMode,
    collectOutput: body.collectOutput,
    privilege: body.privilege,
    network: body.network,
    treeDir: sweepId,
    autoResume: false,
    code: { ...code },
  };
}

function unitsOf({ agents, tasks, trials }: SweepRequest): number {
  return agents.length * trials * tasks.reduce((sum, { variants }) => sum + variants.length, 0);
}

interface Told {
  readonly warnings: readonly string[];
  readonly largestCostUsd: number | null;
}

function answerOf(
  request: SweepRequest,
  { warnings, largestCostUsd }: Told,
  { dryRun, permissions }: { readonly dryRun: boolean; readonly permissions: ReadonlySet<Permission> },
): StartedSweep {
  const { agents, tasks, sweepId } = request;
  return {
    sweepId: dryRun ? null : sweepId,
    dryRun,
    plannedUnits: unitsOf(request),
    agents: agents.map(({ id, agentId, manifestKey }) => ({ id, agentId, revision: revisionInKey(manifestKey) })),
    tasks: tasks.map(({ path, manifestKey, variants }) => ({ path, revision: revisionInKey(manifestKey), variants })),
    largestCostUsd: permissions.has('readCosts') ? largestCostUsd : null,
    warnings: [...warnings],
  };
}
