import { ExamHallError } from '#core/errors';
import { sandboxWishOf } from '#core/sandbox-wish';
import { readTaskCard } from '#core/task-card';
import type { AttemptRow } from '#core/rows';
import { INTENT } from '#core/teardown';
import type { AttemptPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { SandboxSpec } from '#ports/sandbox-provider';
import { beginStage, endStage, sandboxOf } from './steps/attempt-stages.ts';
import { readAttemptInputs, snapshotOf, type AttemptInputs } from './steps/inputs.ts';
import { openLaunchLog } from './steps/launch-log.ts';
import { expiryTimer, releaseAttempt } from './steps/release.ts';
import { readAttempt, updateAttempt } from './steps/rows.ts';
import { openRun } from './steps/run-folder.ts';
import { logRunEvent } from './steps/run-events.ts';
import { refuseCancelled } from './steps/sweeps.ts';
import { madeResources, madeWrite } from './steps/teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'providers' | 'timers' | 'runTree' | 'clock' | 'log'>;

/**
 * Makes the attempt's sandbox. The intent row and the expiry timer are there before anything is launched, and the
 * client token is the attempt's id, so that a repeat finds the same machine.
 * @throws CapacityUnavailableError | SandboxRefusedError | ImageMissingError | ProvisionFailedError | SweepCancelledError.
 */
export async function provisionSandbox({ attemptId }: AttemptPayload, ports: Needs): Promise<void> {
  if ((await readAttempt(ports.unitStore, attemptId)).value.stageEndedAt['provision'] !== undefined) return;
  // Before there is a folder: an attempt that has begun is recorded whatever becomes of it, into that folder.
  const attempt = await openRun(await beginStage(ports, attemptId, 'provision'), ports);
  await refuseCancelled(ports, attempt.sweepId);
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const made = attempt.sandbox === null ? await makeSandbox(attempt, inputs, ports) : attempt;
  await refuseIfOver(made, ports);
  await endStage(ports, attemptId, 'provision');
  const sandbox = sandboxOf(made);
  await logRunEvent(ports, made, 'provision_done', {
    env_id: sandbox.sandboxId,
    machine_type: sandbox.billed?.machineType ?? readTaskCard(inputs.task.card).card.machineType?.name ?? null,
    isolation: sandbox.isolation.kind,
  });
}

async function makeSandbox(attempt: AttemptRow, inputs: AttemptInputs, ports: Needs): Promise<AttemptRow> {
  const { attemptId } = attempt;
  const spec = specOf(attempt, inputs);
  const provider = ports.providers.get(spec.provider);
  await ports.unitStore.write([
    madeWrite(ports, attempt, INTENT, spec.clientToken),
    madeWrite(ports, attempt, 'schedule', expiryTimer(attemptId)),
  ]);
  await ports.timers.create(expiryTimer(attemptId), attempt.expiresAt, { attemptId });
  await logRunEvent(ports, attempt, 'provision_started', { provider: spec.provider, snapshot: spec.snapshot });
  const sandbox = await provider.acquire(spec, await openLaunchLog(ports, attempt));
  return await updateAttempt(
    ports.unitStore,
    attemptId,
    (row) => ({ ...row, sandbox: { ...sandbox }, privilege: spec.privilege }),
    madeResources(ports, attempt, sandbox.resources),
  );
}

/** A launch that outlasted its state finds the attempt released already, and nobody else would end what it made. */
async function refuseIfOver(attempt: AttemptRow, ports: Needs): Promise<void> {
  if (attempt.closedAt === null && attempt.stageStartedAt['release'] === undefined) return;
  await releaseAttempt(ports, attempt, 'delete');
  throw new ExamHallError('ProvisionFailedError', `${attempt.attemptId} was over before its sandbox was there`);
}

function specOf(attempt: AttemptRow, { request, task }: AttemptInputs): SandboxSpec {
  const { card } = readTaskCard(task.card);
  const snapshot = snapshotOf(request, card.snapshot ?? '');
  return {
    ...sandboxWishOf(card, snapshot, request),
    clientToken: attempt.attemptId,
    attemptId: attempt.attemptId,
    provider: snapshot.provider,
    expiresAt: attempt.expiresAt,
    tags: {
      'examhall:sweep': attempt.sweepId,
      'examhall:unit': attempt.unitId,
      'examhall:attempt': attempt.attemptId,
      'examhall:agent': attempt.agentId,
      'examhall:task': attempt.taskPath,
      'examhall:cost-center': request.costCenter,
      'examhall:owner': request.owner,
      'examhall:expires-at': attempt.expiresAt,
    },
  };
}
