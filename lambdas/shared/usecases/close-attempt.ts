import { gradeId } from '#core/ids';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { CloseAttemptResult, FinishPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { excuseIfLost } from './steps/evidence.ts';
import { settleAttempt } from './steps/settle-attempt.ts';
import { verdictOfRow } from './steps/verdicts.ts';
import { readRequest } from './steps/inputs.ts';
import { attemptsOf, updateUnit } from './steps/rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'region' | 'artifacts' | 'providers' | 'events' | 'clock' | 'log'>;

/** Settles an attempt: its verdict, its slot, and whether the unit gets another one. Safe to repeat. */
export async function closeAttempt(payload: FinishPayload, ports: Needs): Promise<CloseAttemptResult> {
  await excuseIfLost(ports, payload);
  const attempt = await settleAttempt(ports, payload.attemptId, payload.error);
  const verdict = verdictOfRow(attempt);
  await removeSignedUrls(ports, attempt);
  const { limits } = await readRequest(ports.artifacts, attempt.requestKey);
  const used = await attemptsUsed(ports, attempt);
  const retry = verdict.retry && used < limits.maxAttempts;
  await updateUnit(ports.unitStore, payload, (unit) => ({
    ...unit,
    attempts: Math.max(unit.attempts, attempt.attempt),
  }));
  ports.log.info('attempt.closed', { blame: verdict.blame, signature: verdict.signatureId, retry });
  await ports.events.publish('slot.freed', { sweepId: payload.sweepId });
  return { retry, nextAttempt: attempt.attempt + 1 };
}

/** What was staged by URL stays in no store: nobody is to fetch a reference with one that has not expired yet. */
async function removeSignedUrls(ports: Needs, { attemptId, gradeNumber }: AttemptRow): Promise<void> {
  const keys = [objectKeys.list(attemptId, 'stage')];
  for (let number = 1; number <= gradeNumber; number += 1) keys.push(objectKeys.gradeStage(gradeId(attemptId, number)));
  for (const key of keys) await ports.artifacts.remove({ bucket: 'artifacts', key });
}

/** Attempts of this run of the experiment that count against the cap, this one included. */
async function attemptsUsed(ports: Needs, attempt: AttemptRow): Promise<number> {
  const attempts = await attemptsOf(ports.unitStore, attempt.unitId);
  return attempts.filter(({ run, verdict }) => run === attempt.run && verdict?.['countsAsAttempt'] !== false).length;
}
