import { attemptId as attemptIdOf } from '#core/ids';
import { rowKeys, rowPrefixes } from '#core/keys';
import { AttemptRowSchema, type AttemptRow } from '#core/rows';
import type { CloseAttemptResult, FinishPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { freeSlot } from './steps/slots.ts';
import { verdictOfRow } from './steps/verdicts.ts';
import { readRequest } from './steps/inputs.ts';
import { allRows, readAttempt, readBody, updateAttempt, updateUnit } from './steps/rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'events' | 'clock' | 'log'>;

/** Settles an attempt: its verdict, its slot, and whether the unit gets another one. Safe to repeat. */
export async function closeAttempt(payload: FinishPayload, ports: Needs): Promise<CloseAttemptResult> {
  const { value: before } = await readAttempt(ports.unitStore, payload.attemptId);
  const verdict = verdictOfRow({ ...before, error: before.error ?? payload.error });
  const attempt = await updateAttempt(ports.unitStore, payload.attemptId, (row) => ({
    ...row,
    error: row.error ?? payload.error,
    verdict: { ...verdict },
    closedAt: row.closedAt ?? ports.clock.now().toISOString(),
  }));
  await freeSlot(ports, payload.unitId, payload.attemptId);
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

/** Attempts of this run of the experiment that count against the cap, this one included. */
async function attemptsUsed(ports: Needs, attempt: AttemptRow): Promise<number> {
  let used = 0;
  const { pk } = rowKeys.attempt(attemptIdOf(attempt.unitId, 1));
  for await (const row of allRows(ports.unitStore, { pk, skPrefix: rowPrefixes.attempt })) {
    const other = readBody(AttemptRowSchema, row);
    if (other.run === attempt.run && other.verdict?.['countsAsAttempt'] !== false) used += 1;
  }
  return used;
}
