import type { AttemptRow } from '#core/rows';
import { eventLine, type RunEventType } from '#core/run-tree';
import type { Ports } from '#ports/ports';

/** Adds a line to the attempt's `events.jsonl`; does nothing before the run folder exists. */
export async function logRunEvent(
  ports: Pick<Ports, 'runTree' | 'clock'>,
  attempt: AttemptRow,
  type: RunEventType,
  data?: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (attempt.runDir === null || attempt.runId === null) return;
  const at = ports.clock.now().toISOString();
  await ports.runTree.appendEvent(
    attempt.runDir,
    eventLine({ at, type, runId: attempt.runId, ...(data === undefined ? {} : { data }) }),
  );
}
