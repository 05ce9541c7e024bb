import { addToCounters } from '#core/grants';
import { rowKeys } from '#core/keys';
import { EMPTY_COUNTERS, SlotCountersSchema, SlotRowSchema, type SlotCounters } from '#core/rows';
import { countsAgainstQuota, isStillThere } from '#core/teardown';
import { withConflictRetry } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { RowCondition, UnitStore } from '#ports/unit-store';
import { findRow } from './rows.ts';
import { teardownRows } from './teardown.ts';

export async function readCounters(
  store: UnitStore,
): Promise<{ readonly counters: SlotCounters; readonly when: RowCondition }> {
  const row = await findRow(store, rowKeys.slotCounters(), SlotCountersSchema);
  return row === undefined
    ? { counters: EMPTY_COUNTERS, when: 'absent' }
    : { counters: row.value, when: { version: row.version } };
}

/**
 * Gives back the slot of an attempt that is over, once its ledger shows that no machine of it is left: only a machine that
 * has ended no longer counts against the quota. Safe to repeat; whoever sees the last of it go calls this.
 */
export async function freeSlotIfGone(ports: Pick<Ports, 'unitStore'>, attemptId: string): Promise<void> {
  if ((await ports.unitStore.get(rowKeys.slot(attemptId))) === undefined) return;
  const rows = await teardownRows(ports, attemptId);
  if (!rows.some((row) => isStillThere(row) && countsAgainstQuota(row))) await freeSlot(ports, attemptId);
}

/** Gives back the slot that the attempt holds, if it does. */
export async function freeSlot(ports: Pick<Ports, 'unitStore'>, attemptId: string): Promise<void> {
  await withConflictRetry(async () => {
    const slot = await findRow(ports.unitStore, rowKeys.slot(attemptId), SlotRowSchema);
    if (slot === undefined) return;
    const { counters, when } = await readCounters(ports.unitStore);
    await ports.unitStore.write([
      { remove: rowKeys.slot(attemptId), when: { version: slot.version } },
      { put: { ...rowKeys.slotCounters(), body: addToCounters(counters, slot.value, -1) }, when },
    ]);
  });
}
