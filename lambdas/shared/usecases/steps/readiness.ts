import { rowKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import { endStage, sandboxOf } from './attempt-stages.ts';
import { noteEvidence } from './evidence.ts';
import { answerWait } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'tokens' | 'clock'>;

/** Asks the provider once and answers the attempt's sandbox wait when there is an answer. */
export async function checkSandbox(ports: Needs, attempt: AttemptRow): Promise<void> {
  const sandbox = sandboxOf(attempt);
  const state = await ports.providers.get(sandbox.provider).describe(sandbox);
  const key = rowKeys.sandboxWait(attempt.attemptId);
  switch (state.state) {
    case 'pending':
      return;
    case 'ready':
      await endStage(ports, attempt.attemptId, 'await');
      await answerWait(ports, key, { kind: 'succeed', output: {} });
      return;
    case 'stopped':
    case 'gone': {
      if (state.state === 'gone' && state.evidence !== null)
        await noteEvidence(ports, attempt.attemptId, state.evidence);
      const evidence = state.state === 'gone' ? (state.evidence ?? 'none given') : 'it was stopped';
      const cause = `${sandbox.sandboxId} went away before it was ready; evidence: ${evidence}`;
      await answerWait(ports, key, { kind: 'fail', error: 'SandboxLostError', cause });
    }
  }
}
