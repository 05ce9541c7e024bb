import { stageOfState, messageOfCause } from '#core/attempt-verdict';
import type { PublishedAgent } from '#core/catalog';
import { STAGES, type Stage } from '#core/errors';
import type {
  EarlierAttempt,
  Lock,
  RecordContent,
  RecordedError,
  RecordedLeft,
  RecordedScreen,
  RecordedVerdict,
  StageTiming,
} from '#core/record';
import type { AttemptRow, UnitRow } from '#core/rows';
import { evalStatusOf, unitStatusOf } from '#core/status';
import { effectivePrivilege, effectiveTimeoutSeconds, readTaskCard, requestedShape } from '#core/task-card';
import type { Ports } from '#ports/ports';
import { storedSandbox } from './attempt-stages.ts';
import type { AttemptInputs } from './inputs.ts';
import { snapshotOf } from './inputs.ts';
import { gradeOfRow, outcomeOfRow, verdictOfRow } from './verdicts.ts';

export interface RecordSource {
  readonly attempt: AttemptRow;
  readonly unit: UnitRow;
  readonly inputs: AttemptInputs;
  readonly agent: PublishedAgent;
  readonly before: readonly AttemptRow[];
  readonly rawGraderOutput: RecordContent['rawGraderOutput'];
  readonly versions: RecordContent['versions'];
  readonly screen: RecordedScreen | null;
  readonly cost: RecordContent['cost'];
  readonly leftBehind: readonly RecordedLeft[];
}

/** Everything `record.json` says but the files. */
export function recordContent(source: RecordSource, digest: Ports['digest']): RecordContent {
  const { attempt, unit } = source;
  const outcome = outcomeOfRow(attempt);
  const grade = gradeOfRow(attempt);
  const verdict = verdictOfRow(attempt);
  return {
    ids: {
      sweepId: attempt.sweepId,
      run: attempt.run,
      unitId: attempt.unitId,
      attemptId: attempt.attemptId,
      runId: attempt.runId ?? attempt.attemptId,
      agentId: attempt.agentId,
      model: attempt.model,
      taskPath: attempt.taskPath,
      variant: attempt.variant,
      variantName: unit.variantName,
      trial: unit.trial,
    },
    lock: lockOf(source, digest),
    isolation: storedSandbox(attempt)?.isolation ?? null,
    ...(source.screen === null ? {} : { screen: source.screen }),
    outcome,
    grade,
    ledgerClass: verdict.ledgerClass,
    status: unitStatusOf({ outcome, grade, begun: true }),
    evalStatus: evalStatusOf(grade),
    error: recordedError(attempt),
    verdict: recordedVerdict(attempt),
    rawGraderOutput: source.rawGraderOutput,
    attemptsBefore: source.before.map(earlier),
    ...(source.leftBehind.length === 0 ? {} : { leftBehind: source.leftBehind }),
    cost: source.cost,
    timings: timingsOf(attempt),
    versions: source.versions,
    unverified: unverifiedParts(attempt),
  };
}

export function recordedError({ error, evidence }: AttemptRow): RecordedError | null {
  if (error === null) return null;
  return { name: error.name, message: messageOfCause(error.message), stage: stageOfState(error.state), evidence };
}

function recordedVerdict(attempt: AttemptRow): RecordedVerdict {
  const { signatureId, blame, retry, countsAsAttempt, ledgerClass, notRunReason, unknown, note } =
    verdictOfRow(attempt);
  return { signatureId, blame, retry, countsAsAttempt, ledgerClass, notRunReason, unknown, note };
}

function earlier(attempt: AttemptRow): EarlierAttempt {
  const end = { outcome: outcomeOfRow(attempt), grade: gradeOfRow(attempt), begun: true };
  return {
    attemptId: attempt.attemptId,
    runDir: attempt.runDir,
    status: unitStatusOf(end),
    verdict: recordedVerdict(attempt),
  };
}

function lockOf({ attempt, inputs, agent }: RecordSource, digest: Ports['digest']): Lock {
  const { request, task, variant, agentRequest } = inputs;
  const { card } = readTaskCard(task.card);
  const shape = requestedShape(card);
  const snapshot = snapshotOf(request, card.snapshot ?? '');
  const sandbox = storedSandbox(attempt);
  const privilege = effectivePrivilege(card, request.privilege);
  return {
    code: { value: request.code.version, sha256: request.code.sha256 },
    data: {
      value: { task: task.taskId, variant: variant.name, revision: task.revision },
      sha256: hexOf(task.revision),
    },
    image: { value: { family: snapshot.image, revision: sandbox?.imageRevision ?? null }, sha256: null },
    shape: {
      value: { vCpus: shape.vCpus, memoryMiB: shape.memoryMiB, gpus: shape.gpus, provider: snapshot.provider },
      sha256: null,
    },
    harness: {
      value: { id: agent.agentId, version: agent.manifest.version, harness: agent.manifest.harness },
      sha256: hexOf(agent.revision),
    },
    model: { value: agentRequest.model, sha256: null },
    limits: {
      value: {
        agentTimeoutSeconds: effectiveTimeoutSeconds(card, request.limits.wallTimeSeconds),
        gradingTimeoutSeconds: card.grading.timeoutSeconds,
      },
      sha256: null,
    },
    network: { value: { profile: request.network, provided: sandbox?.isolation.network ?? null }, sha256: null },
    privilege: { value: privilege, sha256: null },
    grader: { value: card.grading.mode, sha256: task.module.sha256 },
    promptSuffix: { value: request.promptSuffix, sha256: digest.sha256(request.promptSuffix) },
    retryRule: { value: { maxAttempts: request.limits.maxAttempts, retries: 'platform' }, sha256: null },
  };
}

function hexOf(revision: string): string {
  return revision.slice('sha256:'.length);
}

function timingsOf(attempt: AttemptRow): readonly StageTiming[] {
  const timings: StageTiming[] = [];
  for (const stage of STAGES) {
    const startedAt = attempt.stageStartedAt[stage];
    if (startedAt === undefined) continue;
    const endedAt = attempt.stageEndedAt[stage] ?? null;
    const seconds = endedAt === null ? null : (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
    timings.push({ stage: stage satisfies Stage, startedAt, endedAt, seconds });
  }
  return timings;
}

function unverifiedParts(attempt: AttemptRow): readonly string[] {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null) return [];
  const parts = [];
  if (sandbox.isolation.kind === 'none') parts.push(`isolation: none (${sandbox.isolation.reason ?? 'not given'})`);
  if (sandbox.imageRevision === null) parts.push('image: the provider reports no revision');
  return parts;
}
