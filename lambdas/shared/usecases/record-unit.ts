import { isErrorNamed } from '#core/errors';
import type { Json } from '#core/canonical-json';
import { gradeId } from '#core/ids';
import { objectKeys } from '#core/keys';
import { buildRecord, recordText, type CostEntry, type RecordContent } from '#core/record';
import type { AttemptRow, TeardownRow } from '#core/rows';
import { buildEvalResult, buildRunJson, jsonFile } from '#core/run-json';
import { RUN_FILES } from '#core/run-tree';
import { phaseOf, unitStatusOf } from '#core/status';
import { readTaskCard } from '#core/task-card';
import { leftBehind } from '#core/teardown';
import type { CollectManifest } from '#contracts/guest';
import type { FinishPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { measureCost, tokenUsageOf, withoutAmounts } from './steps/attempt-cost.ts';
import { beginStage, storedSandbox } from './steps/attempt-stages.ts';
import { recordBootEvidence } from './steps/boot-evidence.ts';
import { readCollectManifest } from './steps/collected.ts';
import { writeCollected } from './steps/collected-files.ts';
import { excuseIfLost } from './steps/evidence.ts';
import { readAgent, readAttemptInputs, snapshotOf } from './steps/inputs.ts';
import { recordContent, recordedError, type RecordSource } from './steps/record-content.ts';
import { attemptsOf, readUnit, updateAttempt } from './steps/rows.ts';
import { logRunEvent } from './steps/run-events.ts';
import { openRun } from './steps/run-folder.ts';
import { writeScreenEvidence } from './steps/screen-evidence.ts';
import { teardownRows } from './steps/teardown.ts';
import { writeTrajectory, type WrittenTrajectory } from './steps/trajectory-file.ts';
import { gradeOfRow, outcomeOfRow } from './steps/verdicts.ts';

type Needs = Pick<
  Ports,
  | 'unitStore'
  | 'artifacts'
  | 'providers'
  | 'modules'
  | 'workspace'
  | 'runTree'
  | 'clock'
  | 'digest'
  | 'thumbnails'
  | 'versions'
  | 'region'
  | 'log'
>;

type Gathered = Omit<RecordSource, 'screen' | 'cost' | 'leftBehind'>;
type RecordedAttempt = AttemptRow & { readonly runDir: string };

/** Writes the run folder of an attempt, whatever became of it: upstream's files, the log, and `record.json` last. */
export async function recordUnit(payload: FinishPayload, ports: Needs): Promise<void> {
  await excuseIfLost(ports, payload);
  const begun = await beginStage(ports, payload.attemptId, 'record', (row) => ({
    ...row,
    error: row.error ?? payload.error,
  }));
  if (begun.recordSha256 !== null) return;
  const opened = await openRun(begun, ports);
  const attempt: RecordedAttempt = { ...opened, runDir: opened.runDir ?? '' };
  const source = await gather(attempt, ports);
  const manifest = await writeLogs(attempt, source, ports);
  const trajectory = manifest === null ? null : await writeTrajectory(ports, attempt, source.agent, manifest);
  const screen = await writeScreenEvidence(ports, attempt, manifest, trajectory);
  await writeRunFiles(attempt, source, trajectory, ports);
  await recordBootEvidence(ports, attempt);
  await logEnd(attempt, ports);
  const made = await teardownRows(ports, attempt.attemptId);
  const cost = await writeCost(attempt, { source, trajectory, made }, ports);
  const files = (await ports.runTree.list(attempt.runDir)).filter(({ path }) => path !== RUN_FILES.record);
  const record = buildRecord(
    recordContent(
      { ...source, screen: screen.recorded, cost: cost.recorded, leftBehind: leftBehind(made) },
      ports.digest,
    ),
    files,
    ports.digest.sha256,
  );
  await ports.runTree.write(attempt.runDir, RUN_FILES.record, recordText(record));
  await updateAttempt(ports.unitStore, payload.attemptId, (row) => ({
    ...row,
    recordSha256: record.recordSha256,
    screen: screen.row,
    cost: cost.parts,
    stageEndedAt: { ...row.stageEndedAt, record: ports.clock.now().toISOString() },
  }));
}

async function gather(attempt: RecordedAttempt, ports: Needs): Promise<Gathered> {
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const { value: unit } = await readUnit(ports.unitStore, attempt.sweepId, attempt.unitId);
  return {
    attempt,
    unit,
    inputs,
    agent: await readAgent(ports.artifacts, inputs.agentRequest.manifestKey),
    before: await attemptsBefore(attempt, ports),
    rawGraderOutput: await rawGraderOutput(attempt, ports),
    versions: ports.versions,
  };
}

async function attemptsBefore(attempt: AttemptRow, ports: Needs): Promise<readonly AttemptRow[]> {
  const attempts = await attemptsOf(ports.unitStore, attempt.unitId);
  return attempts.filter((other) => other.attempt < attempt.attempt);
}

async function rawGraderOutput(attempt: AttemptRow, ports: Needs): Promise<Json> {
  if (attempt.gradeNumber === 0) return null;
  const key = objectKeys.gradeRaw(gradeId(attempt.attemptId, attempt.gradeNumber));
  try {
    return JSON.parse(new TextDecoder().decode(await ports.artifacts.get({ bucket: 'artifacts', key }))) as Json;
  } catch (error) {
    if (isErrorNamed(error, 'ObjectNotFoundError')) return null;
    throw error;
  }
}

async function writeLogs(attempt: RecordedAttempt, source: Gathered, ports: Needs): Promise<CollectManifest | null> {
  await ports.runTree.makeDir(attempt.runDir, RUN_FILES.output);
  if (attempt.collected?.['exitCode'] !== 0) return null;
  const manifest = await collectedManifest(attempt, ports);
  if (manifest !== null) await writeCollected(ports, attempt, manifest, source.inputs.request.collectOutput);
  return manifest;
}

/** A record is written whatever became of the attempt: without a manifest it says what there is. */
async function collectedManifest(attempt: RecordedAttempt, ports: Needs): Promise<CollectManifest | null> {
  try {
    return await readCollectManifest(ports, attempt);
  } catch (error) {
    if (!isErrorNamed(error, 'CollectFailedError')) throw error;
    return null;
  }
}

async function writeRunFiles(
  attempt: RecordedAttempt,
  { inputs, agent }: Gathered,
  trajectory: WrittenTrajectory | null,
  ports: Needs,
): Promise<void> {
  const { card } = readTaskCard(inputs.task.card);
  const snapshot = snapshotOf(inputs.request, card.snapshot ?? '');
  const error = recordedError(attempt);
  const grade = gradeOfRow(attempt);
  const runJson = buildRunJson({
    runId: attempt.runId ?? attempt.attemptId,
    at: ports.clock.now().toISOString(),
    agent: {
      id: attempt.agentId,
      class: agent.manifest.harness,
      name: agent.agentId,
      version: agent.manifest.version,
      model: attempt.model,
      executor: agent.manifest.executor,
      config: inputs.agentRequest.config,
    },
    task: { path: attempt.taskPath, variant: attempt.variant, revision: inputs.task.revision },
    environment: {
      provider: attempt.provider,
      snapshot: card.snapshot ?? '',
      image: snapshot.image,
      imageRevision: storedSandbox(attempt)?.imageRevision ?? null,
      network: inputs.request.network,
      privilege: inputs.request.privilege,
    },
    end: { outcome: outcomeOfRow(attempt), grade, begun: true },
    phase: error === null ? null : phaseOf(error.stage, error.name),
    error: error === null ? null : { type: error.name, message: error.message, traceback: error.message },
    durationSeconds: secondsBetween(attempt.grantedAt, attempt.stageStartedAt['grade']),
    usage: trajectory?.usage ?? null,
  });
  await ports.runTree.write(
    attempt.runDir,
    RUN_FILES.evalResult,
    jsonFile(buildEvalResult(grade, attempt.gradeDurationSeconds)),
  );
  await ports.runTree.write(attempt.runDir, RUN_FILES.run, jsonFile(runJson));
}

/** The amounts go into the record, or into a file of their own where not everybody may see them. */
async function writeCost(
  attempt: RecordedAttempt,
  {
    source: { inputs },
    trajectory,
    made,
  }: {
    readonly source: Gathered;
    readonly trajectory: WrittenTrajectory | null;
    readonly made: readonly TeardownRow[];
  },
  ports: Needs,
): Promise<{ readonly parts: CostEntry[]; readonly recorded: RecordContent['cost'] }> {
  const cost = measureCost(ports, attempt, { rows: made, tokens: tokenUsageOf(trajectory?.usage ?? null) });
  if (inputs.request.treeDir === '.') return { parts: cost.parts, recorded: cost.parts };
  await ports.runTree.write(attempt.runDir, RUN_FILES.cost, jsonFile(cost));
  return { parts: cost.parts, recorded: withoutAmounts(cost.parts) };
}

async function logEnd(attempt: RecordedAttempt, ports: Needs): Promise<void> {
  const grade = gradeOfRow(attempt);
  const error = recordedError(attempt);
  if (error !== null) {
    const { name, message, stage } = error;
    await logRunEvent(ports, attempt, 'run_failed', { error_type: name, message, phase: phaseOf(stage, name) });
  }
  await logRunEvent(ports, attempt, 'run_completed', {
    status: unitStatusOf({ outcome: outcomeOfRow(attempt), grade, begun: true }),
    score: grade?.kind === 'graded' ? grade.score : null,
    total_duration_s: secondsBetween(attempt.grantedAt, ports.clock.now().toISOString()),
  });
}

function secondsBetween(from: string, to: string | undefined): number | null {
  return to === undefined ? null : Math.round((Date.parse(to) - Date.parse(from)) / 10) / 100;
}
