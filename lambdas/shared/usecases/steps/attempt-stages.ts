import { ExamHallError } from '#core/errors';
import type { AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { Sandbox } from '#ports/sandbox-provider';
import { updateAttempt } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock'>;

/** Marks a stage begun (once) and applies `change` with it. */
export async function beginStage(
  ports: Needs,
  attemptId: string,
  stage: string,
  change: (row: AttemptRow) => AttemptRow = (row) => row,
): Promise<AttemptRow> {
  const now = ports.clock.now().toISOString();
  return await updateAttempt(ports.unitStore, attemptId, (row) =>
    change({ ...row, stageStartedAt: { [stage]: now, ...row.stageStartedAt } }),
  );
}

/** Marks a stage ended and applies `change` with it. */
export async function endStage(
  ports: Needs,
  attemptId: string,
  stage: string,
  change: (row: AttemptRow) => AttemptRow = (row) => row,
): Promise<AttemptRow> {
  const now = ports.clock.now().toISOString();
  return await updateAttempt(ports.unitStore, attemptId, (row) =>
    change({ ...row, stageEndedAt: { ...row.stageEndedAt, [stage]: now } }),
  );
}

/** The attempt's sandbox as its provider described it; null before there was one. */
export function storedSandbox(attempt: AttemptRow): Sandbox | null {
  return isSandbox(attempt.sandbox) ? attempt.sandbox : null;
}

/** @throws SandboxLostError when none was made. */
export function sandboxOf(attempt: AttemptRow): Sandbox {
  const sandbox = storedSandbox(attempt);
  if (sandbox !== null) return sandbox;
  throw new ExamHallError('SandboxLostError', `${attempt.attemptId} has no sandbox; it was not provisioned`);
}

/** The handle is written by us, whole; the row's schema has seen that it is an object. */
function isSandbox(value: unknown): value is Sandbox {
  return typeof value === 'object' && value !== null && 'sandboxId' in value && 'guestIsolation' in value;
}
