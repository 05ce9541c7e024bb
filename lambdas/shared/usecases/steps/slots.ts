import { addToCounters } from '#core/grants';
import { rowKeys } from '#core/keys';
import { EMPTY_COUNTERS, SlotCountersSchema, SlotRowSchema } from '#core/rows';
import type { Ports } from '#ports/ports';
import { findRow, withConflictRetry } from './rows.ts';

/** Gives back the slot that the attempt holds; a slot of another attempt, or none, is left as it is. */
export async function freeSlot(ports: Pick<Ports, 'unitStore'>, unitId: string, attemptId: string): Promise<void> {
  await withConflictRetry(async () => {
    const slot = await findRow(ports.unitStore, rowKeys.slot(unitId), SlotRowSchema);
    if (slot?.value.attemptId !== attemptId) return;
    const counters = await findRow(ports.unitStore, rowKeys.slotCounters(), SlotCountersSchema);
    await ports.unitStore.write([
      { remove: rowKeys.slot(unitId), when: { version: slot.version } },
      {
        put: { ...rowKeys.slotCounters(), body: addToCounters(counters?.value ?? EMPTY_COUNTERS, slot.value, -1) },
        when: counters === undefined ? 'absent' : { version: counters.version },
      },
    ]);
  });
}
