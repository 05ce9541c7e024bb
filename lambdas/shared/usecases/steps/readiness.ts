import { rowKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import { endStage, sandboxOf } from './attempt-stages.ts';
import { lossOf, noteEvidence } from './evidence.ts';
import { answerWait } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'channels' | 'tokens' | 'clock' | 'log'>;

/**
 * Asks the provider once, and the guest of a machine that is there, and answers the attempt's sandbox wait when there is an
 * answer. What a guest still lacks is waited for until the state's own time is over.
 */
export async function checkSandbox(ports: Needs, attempt: AttemptRow): Promise<void> {
  const sandbox = sandboxOf(attempt);
  const state = await ports.providers.get(sandbox.provider).describe(sandbox);
  const key = rowKeys.sandboxWait(attempt.attemptId);
  switch (state.state) {
    case 'pending':
      return;
    case 'ready':
      await checkGuest(ports, attempt);
      return;
    case 'stopped':
    case 'gone': {
      const loss = lossOf(state);
      if (loss !== null) await noteEvidence(ports, attempt.attemptId, loss);
      const evidence = loss?.evidence ?? (state.state === 'gone' ? 'none given' : 'it was stopped');
      const cause = `${sandbox.sandboxId} went away before it was ready; evidence: ${evidence}`;
      await answerWait(ports, key, { kind: 'fail', error: 'SandboxLostError', cause });
    }
  }
}

/** A guest that is ready has told the key its requests are sealed for; the attempt's sandbox is stored with it. */
async function checkGuest(ports: Needs, attempt: AttemptRow): Promise<void> {
  const { attemptId } = attempt;
  const sandbox = sandboxOf(attempt);
  const key = rowKeys.sandboxWait(attemptId);
  const readiness = (await ports.channels.for(sandbox).readiness?.(sandbox)) ?? { state: 'ready', sealingKey: null };
  switch (readiness.state) {
    case 'waiting':
      ports.log.info('sandbox.waiting', { sandboxId: sandbox.sandboxId, waitsFor: readiness.waitsFor });
      return;
    case 'failed': {
      const cause = `${sandbox.sandboxId} will not be ready: ${readiness.reason}`;
      await answerWait(ports, key, { kind: 'fail', error: 'SandboxNotReadyError', cause });
      return;
    }
    case 'ready': {
      const { sealingKey } = readiness;
      await endStage(ports, attemptId, 'await', (row) =>
        sealingKey === null ? row : { ...row, sandbox: { ...row.sandbox, sealingKey } },
      );
      await answerWait(ports, key, { kind: 'succeed', output: {} });
    }
  }
}
