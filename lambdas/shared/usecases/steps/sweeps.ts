import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import { SweepRowSchema } from '#core/rows';
import { withConflictRetry } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import { findRow, readSweep } from './rows.ts';

/** Closes a run of a sweep, as failed when there is a reason, and takes the sweep from the gate; a later run, or a sweep that was never opened, is left alone. */
export async function closeSweep(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  sweepId: string,
  run: number,
  error: string | null = null,
): Promise<void> {
  await withConflictRetry(async () => {
    const now = await findRow(ports.unitStore, rowKeys.sweep(sweepId), SweepRowSchema);
    if (now?.value.run !== run) return;
    const ended = error === null ? { status: 'closed', error: null } : { status: 'failed', error };
    const closedAt = now.value.closedAt ?? ports.clock.now().toISOString();
    await ports.unitStore.write([
      {
        put: { ...rowKeys.sweep(sweepId), body: { ...now.value, ...ended, closedAt } },
        when: { version: now.version },
      },
      { remove: rowKeys.activeSweep(sweepId), when: 'any' },
    ]);
  });
}

/** @throws SweepCancelledError: nothing more is begun for a sweep that its owner has cancelled. */
export async function refuseCancelled({ unitStore }: Pick<Ports, 'unitStore'>, sweepId: string): Promise<void> {
  const { value } = await readSweep(unitStore, sweepId);
  if (value.cancelled)
    throw new ExamHallError('SweepCancelledError', `the sweep ${sweepId} was cancelled by its owner`);
}
