import type { AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import { storedSandbox } from './attempt-stages.ts';
import { updateAttempt } from './rows.ts';

/** Writes down why a sandbox is lost; the first reason stands. */
export async function noteEvidence(
  ports: Pick<Ports, 'unitStore'>,
  attemptId: string,
  evidence: string,
): Promise<AttemptRow> {
  return await updateAttempt(ports.unitStore, attemptId, (row) => ({ ...row, evidence: row.evidence ?? evidence }));
}

/** When we end a sandbox that its attempt is still using, that is the evidence: the agent did not lose it. */
export async function noteEndedByUs(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  attempt: AttemptRow,
  why: string,
): Promise<void> {
  if (attempt.closedAt !== null || attempt.stageStartedAt['release'] !== undefined) return;
  await noteEvidence(ports, attempt.attemptId, `ended by us at ${ports.clock.now().toISOString()}: ${why}`);
}

/** Before a sandbox is given up whose output never came: asks the provider why, which nobody can later. */
export async function askEvidence(
  ports: Pick<Ports, 'unitStore' | 'providers' | 'log'>,
  attempt: AttemptRow,
): Promise<void> {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null || attempt.evidence !== null || attempt.collected?.['exitCode'] === 0) return;
  try {
    const state = await ports.providers.get(sandbox.provider).describe(sandbox);
    if (state.state === 'gone' && state.evidence !== null) await noteEvidence(ports, attempt.attemptId, state.evidence);
  } catch (error) {
    ports.log.warn('sandbox.unknown', { attemptId: attempt.attemptId, message: String(error) });
  }
}
