import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import type { AttemptRow, DetachedRow, TeardownRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { ReleaseMode, ReleaseReport, SandboxToRelease, TeardownResource } from '#ports/sandbox-provider';
import type { RowWrite } from '#ports/unit-store';
import { storedSandbox } from './attempt-stages.ts';
import { mayAppear } from './launch-log.ts';
import { freeSlotIfGone } from './slots.ts';
import {
  closedRow,
  countsAgainstQuota,
  INTENT,
  isSetAside,
  isStillThere,
  teardownRows,
  teardownWrite,
} from './teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'clock'>;

export const expiryTimer = (attemptId: string): string => `expire-${attemptId}`;

/**
 * Ends what an attempt made and writes down what was seen gone, also what nobody knew of before; in another mode than `delete`
 * also what was left on purpose, and why. Safe to repeat, and safe when the handle was never stored: the provider is asked what
 * it has for the attempt. What was left on purpose is not touched again. Gives back the slot of an attempt that is over.
 * @returns what is still there.
 * @throws ReleaseFailedError naming every sandbox that its provider could not release; the others have been.
 */
export async function releaseAttempt(
  ports: Needs,
  attempt: AttemptRow,
  mode: ReleaseMode,
): Promise<readonly TeardownRow[]> {
  const known = await teardownRows(ports, attempt.attemptId);
  const report = isSetAside(known) ? NOTHING : await releaseAll(ports, attempt, mode);
  const { failures } = report;
  if (report.left.length === 0 && !report.isUncertain && failures.length === 0)
    await ports.timers.remove(expiryTimer(attempt.attemptId));
  const rows = [...known, ...newRows(ports, attempt, known, report)];
  const remains = (row: TeardownRow): boolean => isHeldBy(report, row);
  const over = rows.filter((row) => isStillThere(row) && !remains(row));
  const left = rows.filter((row) => isStillThere(row) && remains(row));
  const appeared = left.filter((row) => !known.includes(row)).map((row) => teardownWrite(row));
  const ended = endedWrites(ports, attempt, { over, mode, report });
  const writes = [...ended, ...appeared, ...(left.length > 0 || failures.length > 0 ? [] : report.besides)];
  if (writes.length > 0) await ports.unitStore.write(writes);
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

/** Rows that have left our care; what was seen gone is gone in every mode, and without anything left so is the launch. */
function endedWrites(
  { clock }: Needs,
  attempt: AttemptRow,
  {
    over,
    mode,
    report,
  }: { readonly over: readonly TeardownRow[]; readonly mode: ReleaseMode; readonly report: Report },
): readonly RowWrite[] {
  const goneAt = clock.now().toISOString();
  const isGone = ({ kind, resourceId }: TeardownRow): boolean =>
    kind === 'schedule' || report.gone.some((each) => each.kind === kind && each.resourceId === resourceId);
  const isLeft = over.some((row) => row.kind !== INTENT && !isGone(row));
  const ended = over.map((row) => {
    const hasEnded = isGone(row) || (row.kind === INTENT && !isLeft);
    return teardownWrite(closedRow(row, hasEnded ? 'delete' : mode, { goneAt }));
  });
  const detached = mode === 'detach' && isLeft ? report.sandboxIds : [];
  return [
    ...ended,
    ...detached.map((sandboxId): RowWrite => {
      const { attemptId, provider } = attempt;
      const body: DetachedRow = { attemptId, provider, sandboxId, detachedAt: goneAt };
      return { put: { ...rowKeys.detached(sandboxId), body }, when: 'any' };
    }),
  ];
}

/** What all sandboxes of an attempt have come to. */
interface Report {
  readonly sandboxIds: readonly string[];
  readonly gone: readonly TeardownResource[];
  readonly left: readonly TeardownResource[];
  /** Left on purpose, without a row of its own. */
  readonly aside: readonly TeardownResource[];
  /** Nothing was found of a launch that may have happened a short while ago. */
  readonly isUncertain: boolean;
  /** Sandboxes of which nothing is known but that their release failed. */
  readonly failures: readonly Failure[];
  /** Written once nothing is left. */
  readonly besides: readonly RowWrite[];
}

const NOTHING: Report = {
  sandboxIds: [],
  gone: [],
  left: [],
  aside: [],
  isUncertain: false,
  failures: [],
  besides: [],
};

async function releaseAll(ports: Needs, attempt: AttemptRow, mode: ReleaseMode): Promise<Report> {
  const provider = ports.providers.get(attempt.provider);
  const sandboxes = await sandboxesOf(ports, attempt);
  const gone: TeardownResource[] = [];
  const left: TeardownResource[] = [];
  const aside: TeardownResource[] = [];
  const failures: Failure[] = [];
  for (const sandbox of sandboxes) {
    try {
      const report = await provider.release(sandbox, mode);
      gone.push(...report.gone);
      left.push(...report.left);
      aside.push(...unnamed(sandbox, mode, report));
    } catch (error) {
      failures.push({ sandboxId: sandbox.sandboxId, error });
    }
  }
  const known = storedSandbox(attempt);
  const isUncertain = sandboxes.length === 0 && (await mayAppear(ports, attempt.attemptId));
  const isLogged = known === null || known.pool !== undefined;
  const besides: RowWrite[] = isLogged ? [{ remove: rowKeys.launch(attempt.attemptId), when: 'any' }] : [];
  return { sandboxIds: sandboxes.map(({ sandboxId }) => sandboxId), gone, left, aside, isUncertain, failures, besides };
}

/** A sandbox that was left on purpose and whose handle was never stored has no row that could say so. */
function unnamed(
  { sandboxId, resources }: SandboxToRelease,
  mode: ReleaseMode,
  { gone, left }: ReleaseReport,
): readonly TeardownResource[] {
  const isNamed = resources.length > 0 || gone.length > 0 || left.length > 0;
  return mode === 'delete' || isNamed ? [] : [{ kind: 'machine', resourceId: sandboxId }];
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
  { gone, left, aside }: Report,
): readonly TeardownRow[] {
  const madeAt = storedSandbox(attempt)?.launchedAt ?? clock.now().toISOString();
  return [...gone, ...left, ...aside]
    .filter((named) => !known.some(({ kind, resourceId }) => kind === named.kind && resourceId === named.resourceId))
    .map(({ kind, resourceId }) => ({
      attemptId: attempt.attemptId,
      kind,
      resourceId,
      provider: attempt.provider,
      madeAt,
      goneAt: null,
      end: null,
      why: null,
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
