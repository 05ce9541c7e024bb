import { ExamHallError } from '#core/errors';
import type { AttemptPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { beginStage, endStage } from './steps/attempt-stages.ts';
import { storeBootEvidence } from './steps/boot-evidence.ts';
import { askEvidence } from './steps/evidence.ts';
import { readRequest } from './steps/inputs.ts';
import { releaseAttempt } from './steps/release.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'providers' | 'timers' | 'clock' | 'log'>;

/**
 * Ends the attempt's sandbox in the sweep's cleanup mode and writes what was seen gone. Gone already is success.
 * @throws ReleaseFailedError while something is left; the retry, the timer and the reaper go on from there.
 */
export async function releaseSandbox({ attemptId }: AttemptPayload, ports: Needs): Promise<void> {
  await askEvidence(ports, attemptId);
  // From here on a call that has ended the machine may be our own.
  const attempt = await beginStage(ports, attemptId, 'release');
  await storeBootEvidence(ports, attempt);
  const { cleanupMode } = await readRequest(ports.artifacts, attempt.requestKey);
  const left = await releaseAttempt(ports, attempt, cleanupMode);
  if (left.length > 0) {
    const names = left.map((row) => `${row.kind} ${row.resourceId}`);
    ports.log.warn('sandbox.release-left', { attemptId, left: names });
    throw new ExamHallError('ReleaseFailedError', `${attemptId} still has ${names.join(', ')}`);
  }
  await endStage(ports, attemptId, 'release');
}
