import { ExamHallError, isErrorNamed } from '#core/errors';
import type { AttemptRow } from '#core/rows';
import type { FinishPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { Sandbox, SandboxState } from '#ports/sandbox-provider';
import { storedSandbox } from './attempt-stages.ts';
import { readAttempt, updateAttempt } from './rows.ts';
import { isGuestTrusted, verdictOfRow } from './verdicts.ts';

type Asking = Pick<Ports, 'unitStore' | 'providers' | 'clock'>;

/** What a provider says of a loss. */
interface Loss {
  readonly evidence: string;
  readonly isEndByCall?: boolean;
}

/**
 * Writes down why a sandbox is lost; the first reason stands. That somebody called the provider is one only before the attempt's
 * own release has begun, which calls it too. Nothing is one for an agent that has begun in a guest that nobody
 * can believe and whose time is over: the guest may have drawn it out until we ended it.
 */
export async function noteEvidence(
  { unitStore, clock }: Pick<Ports, 'unitStore' | 'clock'>,
  attemptId: string,
  { evidence, isEndByCall = false }: Loss,
): Promise<AttemptRow> {
  const now = clock.now().getTime();
  return await updateAttempt(unitStore, attemptId, (row) => {
    const isDrawnOut = row.agentStartedAt !== null && !isGuestTrusted(row) && now >= Date.parse(row.expiresAt);
    const hasReleased = row.closedAt !== null || row.stageStartedAt['release'] !== undefined;
    return isDrawnOut || (isEndByCall && hasReleased) ? row : { ...row, evidence: row.evidence ?? evidence };
  });
}

/** When we end a sandbox that its attempt is still using, that is the evidence: the agent did not lose it. */
export async function noteEndedByUs(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  attempt: AttemptRow,
  why: string,
): Promise<void> {
  if (attempt.closedAt !== null || attempt.stageStartedAt['release'] !== undefined) return;
  const evidence = `ended by us at ${ports.clock.now().toISOString()}: ${why}`;
  await noteEvidence(ports, attempt.attemptId, { evidence });
}

/**
 * Before a sandbox is given up whose output never came, or that failed its own grader: asks the provider why, which nobody can
 * later. To be done before the attempt's release is marked as begun: from then on a call that ended the machine may be ours.
 * @throws ReleaseFailedError when the provider does not say.
 */
export async function askEvidence(ports: Asking, attemptId: string): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, attemptId);
  const isLost = attempt.collected?.['exitCode'] !== 0 || attempt.grade?.['reason'] === 'output-lost';
  if (isLost) await askProvider(ports, attempt);
}

async function askProvider(ports: Asking, attempt: AttemptRow): Promise<void> {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null || attempt.evidence !== null) return;
  const loss = lossOf(await described(ports, sandbox));
  if (loss !== null) await noteEvidence(ports, attempt.attemptId, loss);
}

/** What a state says of a loss, if it does. */
export function lossOf(state: SandboxState): Loss | null {
  const { evidence = null } = state;
  return evidence === null ? null : { evidence, isEndByCall: 'isEndByCall' in state };
}

async function described({ providers }: Pick<Ports, 'providers'>, sandbox: Sandbox): Promise<SandboxState> {
  try {
    return await providers.get(sandbox.provider).describe(sandbox);
  } catch (error) {
    const message = `${sandbox.sandboxId} is not released before its provider has said what became of it: ${String(error)}`;
    throw new ExamHallError('ReleaseFailedError', message, {}, error);
  }
}

/**
 * Before a loss is laid to the agent its provider is asked a last time: a release that was cut off never did, nor one after
 * a collect of whose end its state never heard. What the record says stands.
 */
export async function excuseIfLost(
  ports: Asking & Pick<Ports, 'log'>,
  { attemptId, error }: Pick<FinishPayload, 'attemptId' | 'error'>,
): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, attemptId);
  if (attempt.closedAt !== null || attempt.recordSha256 !== null) return;
  if (verdictOfRow({ ...attempt, error: attempt.error ?? error }).ledgerClass !== 'forfeited') return;
  try {
    await askProvider(ports, attempt);
  } catch (failure) {
    if (!isErrorNamed(failure, 'ReleaseFailedError')) throw failure;
    ports.log.warn('sandbox.unknown', { attemptId, message: String(failure) });
  }
}
