import { rowKeys } from '#core/keys';
import { attemptId } from '#core/ids';
import type { CloseUnitPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { answerIfEmpty } from './steps/closing.ts';
import { settleUnit } from './steps/settle-unit.ts';
import { openWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'region' | 'tokens' | 'clock' | 'log'>;

/** The ledger gets two hours to be empty; the machine's own limit is the same. */
const CLOSE_SECONDS = 7200;

/** Puts the unit in its class and waits, under the token, until everything its attempts made has been seen gone. */
export async function closeUnit(payload: CloseUnitPayload, ports: Needs): Promise<void> {
  const { sweepId, unitId, token } = payload;
  const error = payload.error ?? { name: 'UnitWithoutAttempt', message: '', state: 'CloseUnit' };
  const unit = await settleUnit(ports, payload, { run: payload.run, attemptError: error, refusal: error });
  const waiting = attemptId(unitId, Math.max(unit.attempts, 1));
  const wait = { token, sweepId, unitId, attemptId: waiting, timeoutSeconds: CLOSE_SECONDS };
  await openWait(ports, rowKeys.closeWait(unitId), wait);
  await answerIfEmpty(ports, unitId);
}
