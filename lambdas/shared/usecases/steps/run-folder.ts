import type { AttemptRow } from '#core/rows';
import { runId } from '#core/slugs';
import { runStamp } from '#core/unit-plan';
import type { Ports } from '#ports/ports';
import { readUnit, updateAttempt } from './rows.ts';
import { logRunEvent } from './run-events.ts';

/** Opens the run folder once; a repeat finds the one it opened. */
export async function openRun(
  attempt: AttemptRow,
  ports: Pick<Ports, 'unitStore' | 'runTree' | 'clock'>,
): Promise<AttemptRow> {
  if (attempt.runDir !== null) return attempt;
  const { value: unit } = await readUnit(ports.unitStore, attempt.sweepId, attempt.unitId);
  const runDir = await ports.runTree.open(unit.unitDir, runStamp(attempt.grantedAt));
  const timestamp = runDir.slice(runDir.lastIndexOf('/') + 1);
  const id = runId({
    agentId: attempt.agentId,
    model: attempt.model,
    taskPath: attempt.taskPath,
    variant: attempt.variant,
    timestamp,
  });
  const opened = await updateAttempt(ports.unitStore, attempt.attemptId, (row) => ({ ...row, runDir, runId: id }));
  await logRunEvent(ports, opened, 'run_started', { attempt_id: attempt.attemptId });
  await logRunEvent(ports, opened, 'task_revision', { revision: unit.taskRevision });
  return opened;
}
