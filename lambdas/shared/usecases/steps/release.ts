import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import type { AttemptRow, TeardownRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { ReleaseMode, SandboxToRelease, TeardownResource } from '#ports/sandbox-provider';
import type { RowWrite } from '#ports/unit-store';
import { storedSandbox } from './attempt-stages.ts';
import { mayAppear } from './launch-log.ts';
import { freeSlotIfGone } from './slots.ts';
import { closeRows, countsAgainstQuota, INTENT, isStillThere, teardownRows, teardownWrite } from './teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'clock'>;

export const expiryTimer = (attemptId: string): string => `expire-${attemptId}`;

/**
 * Ends what an attempt made and writes down what was seen gone, also what nobody knew of before. Safe to repeat, and safe when
 * the handle was never stored: the provider is asked what it has for the attempt. Gives back the slot of an attempt that is over.
 * @returns what is still there.
 * @throws ReleaseFailedError naming every sandbox that its provider could not release; the others have been.
 */
export async function releaseAttempt(
  ports: Needs,
  attempt: AttemptRow,
  mode: ReleaseMode,
): Promise<readonly TeardownRow[]> {
  const report = await releaseAll(ports, attempt, mode);
  const { failures } = report;
  if (report.left.length === 0 && !report.isUncertain && failures.length === 0)
    await ports.timers.remove(expiryTimer(attempt.attemptId));
  const known = await teardownRows(ports, attempt.attemptId);
  const rows = [...known, ...newRows(ports, attempt, known, report)];
  const remains = (row: TeardownRow): boolean => isHeldBy(report, row);
  const over = rows.filter((row) => isStillThere(row) && !remains(row));
  const left = rows.filter((row) => isStillThere(row) && remains(row));
  const appeared = left.filter((row) => !known.includes(row)).map((row) => teardownWrite(row));
  await closeRows(ports, over, mode, [...appeared, ...(left.length > 0 || failures.length > 0 ? [] : report.besides)]);
  if (attempt.closedAt !== null) await freeSlotIfGone(ports, attempt.attemptId);
  if (failures.length > 0) throw releaseFailed(attempt, failures);
  return left;
}

interface Failure {
  readonly sandboxId: string;
  readonly error: unknown;
}

function releaseFailed({ attemptId }: AttemptRow, failures: readonly Failure[]): ExamHallError {
  const told = failures.map(({ sandboxId, error }) => `${sandboxId} (${String(error)})`).join(', ');
  return new ExamHallError(
    'ReleaseFailedError',
    `of ${attemptId} could not be released: ${told}`,
    {},
    failures[0]?.error,
  );
}

/** What all sandboxes of an attempt have come to. */
interface Report {
  readonly gone: readonly TeardownResource[];
  readonly left: readonly TeardownResource[];
  /** Nothing was found of a launch that may have happened a short while ago. */
  readonly isUncertain: boolean;
  /** Sandboxes of which nothing is known but that their release failed. */
  readonly failures: readonly Failure[];
  /** Written once nothing is left. */
  readonly besides: readonly RowWrite[];
}

async function releaseAll(ports: Needs, attempt: AttemptRow, mode: ReleaseMode): Promise<Report> {
  const provider = ports.providers.get(attempt.provider);
  const sandboxes = await sandboxesOf(ports, attempt);
  const gone: TeardownResource[] = [];
  const left: TeardownResource[] = [];
  const failures: Failure[] = [];
  for (const sandbox of sandboxes) {
    try {
      const report = await provider.release(sandbox, mode);
      gone.push(...report.gone);
      left.push(...report.left);
    } catch (error) {
      failures.push({ sandboxId: sandbox.sandboxId, error });
    }
  }
  const known = storedSandbox(attempt);
  const isUncertain = sandboxes.length === 0 && (await mayAppear(ports, attempt.attemptId));
  const isLogged = known === null || known.pool !== undefined;
  const besides: RowWrite[] = isLogged ? [{ remove: rowKeys.launch(attempt.attemptId), when: 'any' }] : [];
  return { gone, left, isUncertain, failures, besides };
}

function isHeldBy({ gone, left, isUncertain, failures }: Report, row: TeardownRow): boolean {
  const isNamed = (resource: TeardownResource): boolean =>
    resource.kind === row.kind && resource.resourceId === row.resourceId;
  if (failures.length > 0) return !gone.some(isNamed);
  if (row.kind === 'schedule') return left.length > 0 || isUncertain;
  if (row.kind === INTENT) return left.some(countsAgainstQuota) || isUncertain;
  return left.some(isNamed);
}

/** Rows of what the provider named and the ledger had not. */
function newRows(
  { clock }: Needs,
  attempt: AttemptRow,
  known: readonly TeardownRow[],
  { gone, left }: Report,
): readonly TeardownRow[] {
  const madeAt = storedSandbox(attempt)?.launchedAt ?? clock.now().toISOString();
  return [...gone, ...left]
    .filter((named) => !known.some(({ kind, resourceId }) => kind === named.kind && resourceId === named.resourceId))
    .map(({ kind, resourceId }) => ({
      attemptId: attempt.attemptId,
      kind,
      resourceId,
      provider: attempt.provider,
      madeAt,
      goneAt: null,
      end: null,
    }));
}

async function sandboxesOf(ports: Needs, attempt: AttemptRow): Promise<readonly SandboxToRelease[]> {
  const known = storedSandbox(attempt);
  if (known !== null) return [known];
  const { attemptId } = attempt;
  const found: SandboxToRelease[] = [];
  let cursor: string | undefined;
  do {
    const page = await ports.providers.get(attempt.provider).list(cursor);
    for (const sandbox of page.sandboxes)
      if (sandbox.attemptId === attemptId) found.push({ sandboxId: sandbox.sandboxId, attemptId, resources: [] });
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}
