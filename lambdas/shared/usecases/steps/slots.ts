import { addToCounters } from '#core/grants';
import { rowKeys } from '#core/keys';
import { EMPTY_COUNTERS, SlotCountersSchema, SlotRowSchema, type SlotCounters } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { RowCondition, UnitStore } from '#ports/unit-store';
import { findRow, withConflictRetry } from './rows.ts';

export async function readCounters(
  store: UnitStore,
): Promise<{ readonly counters: SlotCounters; readonly when: RowCondition }> {
  const row = await findRow(store, rowKeys.slotCounters(), SlotCountersSchema);
  return row === undefined
    ? { counters: EMPTY_COUNTERS, when: 'absent' }
    : { counters: row.value, when: { version: row.version } };
}

/** Gives back the slot that the attempt holds; a slot of another attempt, or none, is left as it is. */
export async function freeSlot(ports: Pick<Ports, 'unitStore'>, unitId: string, attemptId: string): Promise<void> {
  await withConflictRetry(async () => {
    const slot = await findRow(ports.unitStore, rowKeys.slot(unitId), SlotRowSchema);
    if (slot?.value.attemptId !== attemptId) return;
    const { counters, when } = await readCounters(ports.unitStore);
    await ports.unitStore.write([
      { remove: rowKeys.slot(unitId), when: { version: slot.version } },
      { put: { ...rowKeys.slotCounters(), body: addToCounters(counters, slot.value, -1) }, when },
    ]);
  });
}
