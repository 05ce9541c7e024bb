import { parseAttemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { isStillThere } from '#core/teardown';
import type { Ports } from '#ports/ports';
import { forgetCommands } from './commands.ts';
import { allRows } from './rows.ts';
import { freeSlotIfGone } from './slots.ts';
import { teardownRows } from './teardown.ts';
import { answerWait } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'tokens' | 'clock' | 'log'>;

/** Attempts of a unit that hold something, or whose unit has not been seen through. */
export async function openAttemptsOf(ports: Pick<Ports, 'unitStore'>, unitId: string): Promise<readonly string[]> {
  const open: string[] = [];
  for await (const { sk } of allRows(ports.unitStore, { pk: rowKeys.openAttempt('').pk, skPrefix: `${unitId}.` })) {
    if (parseAttemptId(sk).unitId === unitId) open.push(sk);
  }
  return open;
}

/** Answers the closing wait of a unit, and forgets its attempts, once none of them has anything left. */
export async function answerIfEmpty(ports: Needs, unitId: string): Promise<boolean> {
  const open = await openAttemptsOf(ports, unitId);
  for (const attemptId of open) {
    const rows = await teardownRows(ports, attemptId);
    if (rows.some(isStillThere)) return false;
  }
  for (const attemptId of open) {
    await freeSlotIfGone(ports, attemptId);
    // Not before: the cloud tells of every command that ends with its machine.
    await forgetCommands(ports, attemptId);
    await ports.unitStore.write([{ remove: rowKeys.openAttempt(attemptId), when: 'any' }]);
  }
  const hasWaited = await answerWait(ports, rowKeys.closeWait(unitId), { kind: 'succeed', output: {} });
  if (hasWaited || open.length > 0) ports.log.info('unit.closed', { unitId });
  return true;
}
