import type { CleanupMode } from './cleanup-mode.ts';
import type { RecordedLeft } from './record.ts';
import type { DetachedRow, TeardownRow } from './rows.ts';

/** Kind of the row that is written before anything is launched. */
export const INTENT = 'intent';

/** From what counts least to what counts most, where one resource was told of twice. */
const FATES = ['set-aside', 'not-ours', 'gone', 'left'] as const;

/**
 * What a release came to for one resource: `set-aside`, left on purpose as the mode asks; `not-ours`, there, and nobody here may
 * end it any more, whether an earlier call detached it or somebody else has taken it; `gone`, seen gone; `left`, not gone yet.
 */
export type Fate = (typeof FATES)[number];

type Named = Pick<TeardownRow, 'kind' | 'resourceId'>;
type Fated = Named & { readonly fate: Fate };
/** Of what all rows that appear for one attempt have in common. */
type Made = Pick<TeardownRow, 'attemptId' | 'provider' | 'madeAt'>;

/** Says of several resources that one thing became of them. */
export function withFate<R extends Named>(
  resources: readonly R[],
  fate: Fate,
): readonly (R & { readonly fate: Fate })[] {
  return resources.map((resource) => ({ ...resource, fate }));
}

export function madeRow(made: Made, { kind, resourceId }: Named): TeardownRow {
  const { attemptId, provider, madeAt } = made;
  return { attemptId, kind, resourceId, provider, madeAt, goneAt: null, end: null, why: null };
}

export function isStillThere(row: Pick<TeardownRow, 'end'>): boolean {
  return row.end === null;
}

/** What is left over when its machine has ended takes no slot. */
export function countsAgainstQuota({ kind }: Pick<TeardownRow, 'kind'>): boolean {
  return !['volume', 'interface', 'schedule'].includes(kind);
}

/** Left on purpose, as the sweep's cleanup mode says, or ours no more. */
export function isKept({ end }: Pick<TeardownRow, 'end'>): boolean {
  return end === 'stopped' || end === 'kept' || end === 'detached';
}

/** What was left on purpose, as a record names it. */
export function leftBehind(rows: readonly TeardownRow[]): readonly RecordedLeft[] {
  return rows.flatMap(({ kind, resourceId, end, why }) =>
    kind === INTENT || end === null || end === 'gone' ? [] : [{ kind, resourceId, end, why: why ?? '' }],
  );
}

/** Everything of an attempt has left our care, and some of it on purpose. */
export function isSetAside(rows: readonly TeardownRow[]): boolean {
  return rows.some(isKept) && !rows.some(isStillThere);
}

type End = Pick<TeardownRow, 'end' | 'why'>;

const GONE: End = { end: 'gone', why: null };
const ASIDE = {
  stop: { end: 'stopped', why: 'the sweep asks for cleanup mode stop: switched off, and kept' },
  keep: { end: 'kept', why: 'the sweep asks for cleanup mode keep: left as it was' },
  detach: { end: 'detached', why: 'the sweep asks for cleanup mode detach: left as it was, and ours no more' },
} as const;
const TAKEN = {
  end: 'detached',
  why: 'it was found without the tag that makes it ours, so nobody here may end it: whose it is now has to',
} as const;

/** A machine that is not ours after a detach is as that was to make it. */
function endOf(fate: Fate, mode: CleanupMode): End {
  if (fate === 'gone') return GONE;
  return mode === 'delete' || (mode !== 'detach' && fate === 'not-ours') ? TAKEN : ASIDE[mode];
}

/** What is known after the sandboxes of an attempt were to be released. */
export interface ReleaseFacts {
  /** The ledger as it is. */
  readonly rows: readonly TeardownRow[];
  readonly mode: CleanupMode;
  /** What was said of each sandbox whose release did not fail. */
  readonly reports: readonly { readonly sandboxId: string; readonly resources: readonly Fated[] }[];
  /** Of some sandbox nothing is known but that its release failed. */
  readonly hasFailed: boolean;
  /** Nothing was found of a launch that may have happened a short while ago. */
  readonly isUncertain: boolean;
  readonly made: Made;
  readonly nowIso: string;
}

/** What follows for the ledger from a release. */
export interface TeardownDecision {
  /** Rows to write: those that leave our care, and those that appear. */
  readonly changed: readonly TeardownRow[];
  readonly detached: readonly DetachedRow[];
  /** Rows of what is still there. */
  readonly left: readonly TeardownRow[];
  /** Nothing is left that has to be released again. */
  readonly isOver: boolean;
}

/**
 * What a release makes of the ledger. What was seen gone leaves it at once; what is there on purpose, or is ours no more, only when
 * nothing is left, so that whoever goes on, in whatever mode, finds the ledger true. A row that no report names ends as the rest of
 * its attempt does. A repeat with the same facts changes nothing.
 */
export function decideTeardown(facts: ReleaseFacts): TeardownDecision {
  const { rows, mode, reports, hasFailed, isUncertain, made, nowIso } = facts;
  const told = reports.flatMap((report) => report.resources);
  const resources = eachOnce(FATES.flatMap((fate) => told.filter((each) => each.fate === fate)));
  const left = resources.filter(({ fate }) => fate === 'left');
  const isOver = left.length === 0 && !hasFailed && !isUncertain;
  const common = (['not-ours', 'set-aside'] as const).find((fate) => resources.some((each) => each.fate === fate));
  const unnamed = hasFailed ? 'left' : (common ?? 'gone');
  const fateOf = (row: TeardownRow): Fate => {
    if (row.kind === 'schedule') return isOver ? 'gone' : 'left';
    if (row.kind === INTENT && (isUncertain || left.some(countsAgainstQuota))) return 'left';
    return resources.find((each) => isSame(each, row))?.fate ?? unnamed;
  };
  const known = [...rows, ...resources.filter(isNotIn(rows)).map((each) => madeRow(made, each))];
  const after = known.map((row) => {
    const fate = fateOf(row);
    const isClosed = isStillThere(row) && (fate === 'gone' || (fate !== 'left' && isOver));
    return isClosed ? { ...row, goneAt: nowIso, ...endOf(fate, mode) } : row;
  });
  const changed = after.filter((row) => !rows.includes(row));
  return { changed, detached: detachedBy(facts, changed), left: after.filter(isStillThere), isOver };
}

/** A sandbox is known by its machine, or by itself when it has none. */
function detachedBy({ reports, mode, made, nowIso }: ReleaseFacts, changed: readonly TeardownRow[]): DetachedRow[] {
  const rows = changed.filter(({ end }) => end === 'detached');
  const ids = reports.flatMap(({ sandboxId, resources }) => {
    const named = resources.filter((each) => rows.some((row) => isSame(each, row)));
    const machines = named.filter(({ kind }) => kind === 'machine').map(({ resourceId }) => resourceId);
    return machines.length > 0 || named.length === 0 ? machines : [sandboxId];
  });
  const { attemptId, provider } = made;
  const why = mode === 'detach' ? null : TAKEN.why;
  return [...new Set(ids)].map((sandboxId) => ({ attemptId, provider, sandboxId, detachedAt: nowIso, why }));
}

/** Of several that name one thing the last. */
export function eachOnce<R extends Named>(resources: readonly R[]): readonly R[] {
  return [...new Map(resources.map((each) => [`${each.kind} ${each.resourceId}`, each])).values()];
}

function isSame(one: Named, other: Named): boolean {
  return one.kind === other.kind && one.resourceId === other.resourceId;
}

/** For a filter that keeps what a list does not name. */
export function isNotIn(named: readonly Named[]): (one: Named) => boolean {
  return (one) => !named.some((other) => isSame(one, other));
}
