import { rowKeys } from '#core/keys';
import { SweepRowSchema, type AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import { storeBootEvidence } from './boot-evidence.ts';
import { answerIfEmpty, openAttemptsOf } from './closing.ts';
import { releaseAttempt } from './release.ts';
import { findRow, readAttempt } from './rows.ts';
import { settleUnit, type UnitIds } from './settle-unit.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'region' | 'providers' | 'timers' | 'tokens' | 'clock' | 'log'>;

/**
 * Settles a unit whose machine has ended without doing so, as the platform's fault, and ends what its attempts still hold.
 * A unit that nothing was started for is not run if its sweep was cancelled. Safe to repeat, and after an orderly end.
 */
export async function abandonUnit(ports: Needs, ids: UnitIds & { readonly run: number }, cause: string): Promise<void> {
  const sweep = await findRow(ports.unitStore, rowKeys.sweep(ids.sweepId), SweepRowSchema);
  const attemptError = { name: 'ExecutionAbortedError', message: cause, state: 'RunAgent' };
  const refusal =
    sweep?.value.cancelled === true
      ? { name: 'SweepCancelledError', message: cause, state: 'AdmitUnit' }
      : attemptError;
  await settleUnit(ports, ids, { run: ids.run, attemptError, refusal });
  for (const attemptId of await openAttemptsOf(ports, ids.unitId)) {
    const { value: attempt } = await readAttempt(ports.unitStore, attemptId);
    if (attempt.run === ids.run) await releaseAbandoned(ports, attempt);
  }
  await answerIfEmpty(ports, ids.unitId);
}

async function releaseAbandoned(ports: Needs, attempt: AttemptRow): Promise<void> {
  await storeBootEvidence(ports, attempt);
  const left = await releaseAttempt(ports, attempt, 'delete');
  ports.log.warn('sandbox.reaped', { attemptId: attempt.attemptId, by: 'execution-event', left: left.length });
}
