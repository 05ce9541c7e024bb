import { ExamHallError } from '#core/errors';
import type { ExpirePayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { answerIfEmpty } from './steps/closing.ts';
import { noteEndedByUs } from './steps/evidence.ts';
import { releaseAttempt } from './steps/release.ts';
import { readAttempt, readUnit } from './steps/rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'tokens' | 'clock' | 'log'>;

/**
 * The one-time timer of a sandbox: ends it whatever else is dead. The unit's own path finds it gone.
 * @throws ReleaseFailedError while something is left, so that the invocation is tried again.
 */
export async function expireSandbox({ attemptId }: ExpirePayload, ports: Needs): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, attemptId);
  await noteEndedByUs(ports, attempt, `its time ended at ${attempt.expiresAt}`);
  const left = await releaseAttempt(ports, attempt, 'delete');
  ports.log.warn('sandbox.reaped', { attemptId, by: 'timer', left: left.length });
  if (left.length > 0) {
    const names = left.map(({ kind, resourceId }) => `${kind} ${resourceId}`).join(', ');
    throw new ExamHallError('ReleaseFailedError', `${attemptId} has expired and still has ${names}`);
  }
  const { value: unit } = await readUnit(ports.unitStore, attempt.sweepId, attempt.unitId);
  if (unit.closedAt !== null) await answerIfEmpty(ports, unit.unitId);
}
