import type { AttemptRow, StateError } from '#core/rows';
import type { Ports } from '#ports/ports';
import { updateAttempt } from './rows.ts';
import { freeSlot } from './slots.ts';
import { verdictOfRow } from './verdicts.ts';

/** Closes an attempt with its verdict and gives back its slot. The first error and the first end stand. */
export async function settleAttempt(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  attemptId: string,
  error: StateError | null,
): Promise<AttemptRow> {
  const now = ports.clock.now().toISOString();
  const attempt = await updateAttempt(ports.unitStore, attemptId, (row) => {
    const ended = { ...row, error: row.error ?? error, closedAt: row.closedAt ?? now };
    return { ...ended, verdict: { ...verdictOfRow(ended) } };
  });
  await freeSlot(ports, attempt.unitId, attemptId);
  return attempt;
}
