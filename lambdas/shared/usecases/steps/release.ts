import type { AttemptRow, TeardownRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { ReleaseMode, Sandbox, TeardownResource } from '#ports/sandbox-provider';
import { storedSandbox } from './attempt-stages.ts';
import { closeRows, INTENT, isStillThere, teardownRows } from './teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'clock'>;

export const expiryTimer = (attemptId: string): string => `expire-${attemptId}`;

/**
 * Ends what an attempt made and writes down what was seen gone. Safe to repeat, and safe when the handle was never
 * stored: the provider is asked what it has for the attempt.
 * @returns what is still there.
 */
export async function releaseAttempt(
  ports: Needs,
  attempt: AttemptRow,
  mode: ReleaseMode,
): Promise<readonly TeardownRow[]> {
  const provider = ports.providers.get(attempt.provider);
  const left: TeardownResource[] = [];
  for (const sandbox of await sandboxesOf(ports, attempt)) {
    const report = await provider.release(sandbox, mode);
    left.push(...report.left);
  }
  if (left.length === 0) await ports.timers.remove(expiryTimer(attempt.attemptId));
  const rows = await teardownRows(ports, attempt.attemptId);
  const remains = (row: TeardownRow): boolean =>
    left.length > 0 &&
    (row.kind === INTENT ||
      row.kind === 'schedule' ||
      left.some((resource) => resource.kind === row.kind && resource.resourceId === row.resourceId));
  const over = rows.filter((row) => isStillThere(row) && !remains(row));
  await closeRows(ports, over, mode);
  return rows.filter((row) => isStillThere(row) && remains(row));
}

async function sandboxesOf(
  ports: Needs,
  attempt: AttemptRow,
): Promise<readonly Pick<Sandbox, 'sandboxId' | 'resources'>[]> {
  const known = storedSandbox(attempt);
  if (known !== null) return [known];
  const found: Pick<Sandbox, 'sandboxId' | 'resources'>[] = [];
  let cursor: string | undefined;
  do {
    const page = await ports.providers.get(attempt.provider).list(cursor);
    for (const sandbox of page.sandboxes)
      if (sandbox.attemptId === attempt.attemptId) found.push({ sandboxId: sandbox.sandboxId, resources: [] });
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}
