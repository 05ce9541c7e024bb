import { attemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { Ports } from '#ports/ports';
import { isStillThere, teardownRows } from './teardown.ts';
import { answerWait } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'tokens' | 'clock' | 'log'>;

interface ClosingUnit {
  readonly sweepId: string;
  readonly unitId: string;
  /** Number of the last attempt. */
  readonly attempts: number;
}

/** Answers the unit's closing wait once no attempt of it has anything left. */
export async function answerIfEmpty(ports: Needs, unit: ClosingUnit): Promise<boolean> {
  for (let number = 1; number <= unit.attempts; number += 1) {
    const rows = await teardownRows(ports, attemptId(unit.unitId, number));
    if (rows.some(isStillThere)) return false;
  }
  for (let number = 1; number <= unit.attempts; number += 1) {
    await ports.unitStore.write([{ remove: rowKeys.openAttempt(attemptId(unit.unitId, number)), when: 'any' }]);
  }
  ports.log.info('unit.closed', { unitId: unit.unitId });
  await answerWait(ports, rowKeys.closeWait(unit.unitId), { kind: 'succeed', output: {} });
  return true;
}
