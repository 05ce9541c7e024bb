import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import type { AttemptRow, DetachedRow, TeardownRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { ReleaseMode, ReleaseReport, SandboxToRelease, TeardownResource } from '#ports/sandbox-provider';
import type { RowWrite } from '#ports/unit-store';
import { storedSandbox } from './attempt-stages.ts';
import { isThere } from './detached.ts';
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
  WHY,
} from './teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'clock'>;

export const expiryTimer = (attemptId: string): string => `expire-${attemptId}`;

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
  const before = await teardownRows(ports, attempt.attemptId);
  const report = isSetAside(before) ? NOTHING : await releaseAll(ports, attempt, { mode, before });
  const known = [...before, ...report.noted];
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
  const message =
    `sandboxes of ${attemptId} could not be released: ${told}. The reaper tries again every five minutes and they are billed ` +
    'until it succeeds; if it does not, mend what the provider says, or end them by hand';
  return new ExamHallError('ReleaseFailedError', message, { attemptId }, failures[0]?.error);
}

interface Ended {
  readonly over: readonly TeardownRow[];
  readonly mode: ReleaseMode;
  readonly report: Report;
}

/** Rows that have left our care; what was seen gone is gone in every mode, and without anything left so is the launch. */
function endedWrites({ clock }: Needs, attempt: AttemptRow, { over, mode, report }: Ended): readonly RowWrite[] {
  const goneAt = clock.now().toISOString();
  const isGone = (row: TeardownRow): boolean => row.kind === 'schedule' || isIn(report.gone, row);
  // In mode detach that is what was asked for.
  const isTaken = (row: TeardownRow): boolean => mode !== 'detach' && isIn(report.notOurs, row);
  const wayOf = (row: TeardownRow): ReleaseMode | 'taken' => (isGone(row) ? 'delete' : isTaken(row) ? 'taken' : mode);
  const made = over.filter(({ kind }) => kind !== INTENT).filter((row) => !isGone(row));
  const wayOfIntent = made.length === 0 ? 'delete' : made.some(isTaken) ? 'taken' : mode;
  const ended = over.map((row) => closedRow(row, row.kind === INTENT ? wayOfIntent : wayOf(row), { goneAt }));
  const taken = made.filter((row) => row.kind === 'machine' && isTaken(row)).map(({ resourceId }) => resourceId);
  const isOver = (sandboxId: string): boolean =>
    ![...report.gone, ...report.left].some(({ resourceId }) => resourceId === sandboxId);
  const detached = mode === 'detach' && made.length > 0 ? report.sandboxIds.filter(isOver) : taken;
  const why = mode === 'detach' ? null : WHY.taken;
  return [
    ...ended.map(teardownWrite),
    ...detached.map((sandboxId): RowWrite => {
      const { attemptId, provider } = attempt;
      const body: DetachedRow = { attemptId, provider, sandboxId, detachedAt: goneAt, why };
      return { put: { ...rowKeys.detached(sandboxId), body }, when: 'any' };
    }),
  ];
}

type Named = Pick<TeardownRow, 'kind' | 'resourceId'>;

function isIn(resources: readonly Named[], { kind, resourceId }: Named): boolean {
  return resources.some((each) => each.kind === kind && each.resourceId === resourceId);
}

/** What all sandboxes of an attempt have come to. */
interface Report {
  readonly sandboxIds: readonly string[];
  /** Rows written before the release, of what nobody may be able to find after it. */
  readonly noted: readonly TeardownRow[];
  readonly gone: readonly TeardownResource[];
  readonly left: readonly TeardownResource[];
  /** There, and ours no more. */
  readonly notOurs: readonly TeardownResource[];
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
  noted: [],
  gone: [],
  left: [],
  notOurs: [],
  aside: [],
  isUncertain: false,
  failures: [],
  besides: [],
};

interface Asked {
  readonly mode: ReleaseMode;
  /** The ledger as it was. */
  readonly before: readonly TeardownRow[];
}

async function releaseAll(ports: Needs, attempt: AttemptRow, { mode, before }: Asked): Promise<Report> {
  const provider = ports.providers.get(attempt.provider);
  const known = storedSandbox(attempt);
  const shown = known === null ? await listed(ports, attempt) : [known];
  const sandboxes = known === null ? [...shown, ...onlyNamed(attempt, before, shown)] : shown;
  const noted: TeardownRow[] = [];
  const gone: TeardownResource[] = [];
  const left: TeardownResource[] = [];
  const notOurs: TeardownResource[] = [];
  const aside: TeardownResource[] = [];
  const failures: Failure[] = [];
  for (const sandbox of sandboxes) {
    try {
      if (known === null && mode === 'detach') noted.push(...(await noteIfThere(ports, attempt, { sandbox, before })));
      const report = await provider.release(sandbox, mode);
      gone.push(...report.gone);
      left.push(...report.left);
      notOurs.push(...(report.notOurs ?? []));
      aside.push(...unnamed(sandbox, mode, report));
    } catch (error) {
      failures.push({ sandboxId: sandbox.sandboxId, error });
    }
  }
  const isSeen = shown.length + left.length + notOurs.length + aside.length > 0;
  const isUncertain = !isSeen && (await mayAppear(ports, attempt.attemptId));
  const isLogged = known === null || known.pool !== undefined;
  const besides: RowWrite[] = isLogged ? [{ remove: rowKeys.launch(attempt.attemptId), when: 'any' }] : [];
  const sandboxIds = sandboxes.map(({ sandboxId }) => sandboxId);
  return { sandboxIds, noted, gone, left, notOurs, aside, isUncertain, failures, besides };
}

/** No list names what has been detached, and no handle was stored: unless the ledger has it first, a repeat would not know of it. */
async function noteIfThere(
  ports: Needs,
  attempt: AttemptRow,
  { sandbox: { sandboxId }, before }: Pick<Asked, 'before'> & { readonly sandbox: SandboxToRelease },
): Promise<readonly TeardownRow[]> {
  const named = { kind: 'machine', resourceId: sandboxId };
  if (isIn(before, named)) return [];
  // What is left of a machine is listed too, and is none.
  if (!isThere(await ports.providers.get(attempt.provider).describe({ sandboxId }))) return [];
  const row = madeRow(ports, attempt, named);
  await ports.unitStore.write([teardownWrite(row)]);
  return [row];
}

/** A sandbox that was left on purpose and whose handle was never stored has no row that could say so. */
function unnamed(
  { sandboxId, resources }: SandboxToRelease,
  mode: ReleaseMode,
  { gone, left, notOurs = [] }: ReleaseReport,
): readonly TeardownResource[] {
  const isNamed = resources.length > 0 || gone.length > 0 || left.length > 0 || notOurs.length > 0;
  return mode === 'delete' || isNamed ? [] : [{ kind: 'machine', resourceId: sandboxId }];
}

function isHeldBy({ gone, left, isUncertain, failures }: Report, row: TeardownRow): boolean {
  if (failures.length > 0) return !isIn(gone, row);
  if (row.kind === 'schedule') return left.length > 0 || isUncertain;
  if (row.kind === INTENT) return left.some(countsAgainstQuota) || isUncertain;
  return isIn(left, row);
}

/** Rows of what the provider named and the ledger had not. */
function newRows(
  ports: Needs,
  attempt: AttemptRow,
  known: readonly TeardownRow[],
  { gone, left, notOurs, aside }: Report,
): readonly TeardownRow[] {
  return [...gone, ...left, ...notOurs, ...aside]
    .filter((named) => !isIn(known, named))
    .map((named) => madeRow(ports, attempt, named));
}

function madeRow({ clock }: Needs, attempt: AttemptRow, { kind, resourceId }: Named): TeardownRow {
  return {
    attemptId: attempt.attemptId,
    kind,
    resourceId,
    provider: attempt.provider,
    madeAt: storedSandbox(attempt)?.launchedAt ?? clock.now().toISOString(),
    goneAt: null,
    end: null,
    why: null,
  };
}

/** Machines that the ledger names from an earlier call and that are not shown now: they may be gone, or ours no more. */
function onlyNamed(
  { attemptId }: AttemptRow,
  before: readonly TeardownRow[],
  shown: readonly SandboxToRelease[],
): readonly SandboxToRelease[] {
  return before
    .filter((row) => row.kind === 'machine' && isStillThere(row))
    .filter(({ resourceId }) => !shown.some(({ sandboxId }) => sandboxId === resourceId))
    .map(({ resourceId }) => ({ sandboxId: resourceId, attemptId, resources: [] }));
}

async function listed(ports: Needs, { attemptId, provider }: AttemptRow): Promise<readonly SandboxToRelease[]> {
  const found: SandboxToRelease[] = [];
  let cursor: string | undefined;
  do {
    const page = await ports.providers.get(provider).list(cursor);
    for (const sandbox of page.sandboxes)
      if (sandbox.attemptId === attemptId) found.push({ sandboxId: sandbox.sandboxId, attemptId, resources: [] });
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}
