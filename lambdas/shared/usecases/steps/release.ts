import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import type { AttemptRow, TeardownRow } from '#core/rows';
import { decideTeardown, isSetAside } from '#core/teardown';
import type { Ports } from '#ports/ports';
import type { ReleaseMode } from '#ports/sandbox-provider';
import type { RowWrite } from '#ports/unit-store';
import { storedSandbox } from './attempt-stages.ts';
import { releaseSandboxes, type Failure, type Released } from './release-sandboxes.ts';
import { freeSlotIfGone } from './slots.ts';
import { teardownRows, teardownWrite } from './teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'clock'>;

export const expiryTimer = (attemptId: string): string => `expire-${attemptId}`;

const NOTHING: Omit<Released, 'rows'> = { reports: [], failures: [], isUncertain: false };

/**
 * Ends what an attempt made and writes down what was seen gone, also what nobody knew of before; in another mode than `delete`
 * also what was left on purpose, and why. Safe to repeat, and safe when the handle was never stored: the provider is asked what
 * it has for the attempt. What was left on purpose, or is ours no more, is not touched again. Gives back the slot of an attempt
 * that is over.
 * @returns what is still there.
 * @throws ReleaseFailedError naming every sandbox that its provider could not release; the others have been.
 */
export async function releaseAttempt(
  ports: Needs,
  attempt: AttemptRow,
  mode: ReleaseMode,
): Promise<readonly TeardownRow[]> {
  const { attemptId, provider } = attempt;
  const before = await teardownRows(ports, attemptId);
  const isAside = isSetAside(before);
  const stored = storedSandbox(attempt);
  const { failures, ...released } = isAside
    ? { rows: before, ...NOTHING }
    : await releaseSandboxes(ports, attempt, { mode, before });
  const nowIso = ports.clock.now().toISOString();
  const made = { attemptId, provider, madeAt: stored?.launchedAt ?? nowIso };
  const { changed, detached, left, isOver } = decideTeardown({
    ...released,
    mode,
    hasFailed: failures.length > 0,
    made,
    nowIso,
  });
  if (isOver) await ports.timers.remove(expiryTimer(attemptId));
  const isLogged = !isAside && (stored === null || stored.pool !== undefined);
  const writes: readonly RowWrite[] = [
    ...changed.map(teardownWrite),
    ...detached.map((body): RowWrite => ({ put: { ...rowKeys.detached(body.sandboxId), body }, when: 'any' })),
    ...(isOver && isLogged ? [{ remove: rowKeys.launch(attemptId), when: 'any' } as const] : []),
  ];
  if (writes.length > 0) await ports.unitStore.write(writes);
  if (attempt.closedAt !== null) await freeSlotIfGone(ports, attemptId);
  if (failures.length > 0) throw releaseFailed(attempt, failures);
  return left;
}

function releaseFailed({ attemptId }: AttemptRow, failures: readonly Failure[]): ExamHallError {
  const told = failures.map(({ sandboxId, error }) => `${sandboxId} (${String(error)})`).join(', ');
  const message =
    `sandboxes of ${attemptId} could not be released: ${told}. The reaper tries again every five minutes and they are billed ` +
    'until it succeeds; if it does not, mend what the provider says, or end them by hand';
  return new ExamHallError('ReleaseFailedError', message, { attemptId }, failures[0]?.error);
}
