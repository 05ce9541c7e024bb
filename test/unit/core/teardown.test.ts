import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLEANUP_MODES } from '#core/cleanup-mode';
import type { TeardownRow } from '#core/rows';
import {
  countsAgainstQuota,
  decideTeardown,
  eachOnce,
  INTENT,
  isKept,
  isNotIn,
  isStillThere,
  madeRow,
  withFate,
  type Fate,
  type ReleaseFacts,
} from '#core/teardown';

const MADE = { attemptId: 'a.1', provider: 'aws', madeAt: '2026-03-01T11:00:00.000Z' };
const FATES: readonly Fate[] = ['gone', 'left', 'set-aside', 'not-ours'];
const NAMES = ['machine', 'volume', 'interface', 'folder'].flatMap((kind) =>
  ['1', '2'].map((resourceId) => ({ kind, resourceId })),
);
const FOLLOWERS = [INTENT, 'schedule'].map((kind) => ({ kind, resourceId: 'a.1' }));

const ends = fc.constantFrom(null, null, null, 'gone', 'kept' as const);
const ledger = fc
  .tuple(fc.subarray([...NAMES, ...FOLLOWERS]), fc.array(ends, { minLength: 10, maxLength: 10 }))
  .map(([named, all]) =>
    named.map((each, index): TeardownRow => {
      const end = all[index] ?? null;
      return { ...madeRow(MADE, each), end, goneAt: end === null ? null : MADE.madeAt };
    }),
  );
const report = (fates: readonly Fate[]) =>
  fc.record({
    sandboxId: fc.constantFrom('1', '2'),
    resources: fc.uniqueArray(
      fc.record({ name: fc.constantFrom(...NAMES), fate: fc.constantFrom(...fates) }).map(({ name, fate }) => ({
        ...name,
        fate,
      })),
      { selector: ({ kind, resourceId }) => `${kind} ${resourceId}`, maxLength: 5 },
    ),
  });
const facts: fc.Arbitrary<ReleaseFacts> = fc.constantFrom(...CLEANUP_MODES).chain((mode) =>
  fc.record({
    rows: ledger,
    mode: fc.constant(mode),
    // No provider sets anything aside that is to be deleted.
    reports: fc.array(report(FATES.filter((fate) => mode !== 'delete' || fate !== 'set-aside')), { maxLength: 3 }),
    hasFailed: fc.boolean(),
    isUncertain: fc.boolean(),
    made: fc.constant(MADE),
    nowIso: fc.constant('2026-03-01T12:00:00.000Z'),
  }),
);

const key = ({ kind, resourceId }: Pick<TeardownRow, 'kind' | 'resourceId'>) => `${kind} ${resourceId}`;
/** The ledger as it is when the decision has been written. */
const after = ({ rows }: ReleaseFacts, changed: readonly TeardownRow[]) => eachOnce([...rows, ...changed]);
const told = ({ reports }: ReleaseFacts, ...fates: readonly Fate[]) =>
  reports.flatMap(({ resources }) => resources).filter(({ fate }) => fates.includes(fate));
const always = (holds: (given: ReleaseFacts, made: ReturnType<typeof decideTeardown>) => void) => {
  fc.assert(
    fc.property(facts, (given) => {
      holds(given, decideTeardown(given));
    }),
    { numRuns: 500 },
  );
};

describe('the ledger after a release', () => {
  it('has one row for each resource that was named, and loses none', () => {
    always((given, { changed }) => {
      expect(new Set(changed.map(key)).size).toBe(changed.length);
      const rows = after(given, changed);
      expect([...given.rows, ...told(given, ...FATES)].filter(isNotIn(rows))).toEqual([]);
    });
  });

  it('closes a row once and for good', () => {
    always(({ rows }, { changed }) => {
      const closed = rows.filter((row) => !isStillThere(row));
      expect(changed.filter((row) => !isNotIn(closed)(row))).toEqual([]);
    });
  });

  it('is the same after a repeat that is told the same', () => {
    always((given, { changed }) => {
      const again = decideTeardown({ ...given, rows: after(given, changed), nowIso: '2026-03-01T13:00:00.000Z' });
      expect([again.changed, again.detached]).toEqual([[], []]);
    });
  });

  it('closes nothing that is left, and says so of it', () => {
    always((given, { changed, left, isOver }) => {
      const held = told(given, 'left');
      expect(changed.filter((row) => !isStillThere(row) && !isNotIn(held)(row))).toEqual([]);
      expect(left).toEqual(after(given, changed).filter(isStillThere));
      expect(isOver && held.length > 0).toBe(false);
    });
  });

  it('calls gone nothing that is there, and closes at once what was seen gone', () => {
    always((given, { changed }) => {
      const there = told(given, 'left', 'set-aside', 'not-ours').filter(isNotIn(told(given, 'gone')));
      expect(changed.filter(({ end }) => end === 'gone').filter((row) => !isNotIn(there)(row))).toEqual([]);
      const gone = told(given, 'gone').filter(isNotIn(told(given, 'left')));
      expect(after(given, changed).filter((row) => isStillThere(row) && !isNotIn(gone)(row))).toEqual([]);
    });
  });

  it('closes nothing but what was seen gone while anything of the attempt may be there that has to be released again', () => {
    always(({ hasFailed, isUncertain }, { changed, left, isOver }) => {
      expect(isOver).toBe(!hasFailed && !isUncertain && isOver);
      if (!isOver) expect(changed.filter(isKept)).toEqual([]);
      else expect(left).toEqual([]);
    });
  });

  it('holds the schedule until all is over, and the intent until no machine is left or may appear', () => {
    always((given, { changed, left, isOver }) => {
      const open = left.map(({ kind }) => kind);
      const before = given.rows.filter(isStillThere).map(({ kind }) => kind);
      expect(open.includes('schedule')).toBe(before.includes('schedule') && !isOver);
      const isHeld = given.hasFailed || given.isUncertain || told(given, 'left').some(countsAgainstQuota);
      if (before.includes(INTENT) && isHeld) expect(open).toContain(INTENT);
      const ended = changed.find(({ kind }) => kind === 'schedule');
      expect(ended?.end ?? 'gone').toBe('gone');
    });
  });

  it('ends what is there as the mode asks, or as detached with the reason when it was not ours', () => {
    const end = { delete: 'detached', stop: 'stopped', keep: 'kept', detach: 'detached' } as const;
    always(({ mode }, { changed }) => {
      for (const row of changed.filter(isKept)) {
        const isTaken = row.why?.includes('without the tag') === true;
        expect(row.end).toBe(isTaken ? 'detached' : end[mode]);
        expect(isTaken || row.why?.includes(`cleanup mode ${mode}`) === true).toBe(true);
        expect(mode === 'detach' && isTaken).toBe(false);
      }
    });
  });

  it('remembers as detached every machine that was named and ends detached, and nothing while none does', () => {
    always((given, { changed, detached }) => {
      const ended = changed.filter(({ end }) => end === 'detached');
      const named = ended.filter((row) => !isNotIn(told(given, ...FATES))(row));
      const machines = named.filter(({ kind }) => kind === 'machine').map(({ resourceId }) => resourceId);
      const ids = detached.map(({ sandboxId }) => sandboxId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(machines.filter((machine) => !ids.includes(machine))).toEqual([]);
      expect(ids.length > 0).toBe(named.length > 0);
    });
  });
});

describe('a release', () => {
  const open = (...named: readonly { readonly kind: string; readonly resourceId: string }[]) =>
    [...FOLLOWERS, ...named].map((each) => madeRow(MADE, each));
  const machine = { kind: 'machine', resourceId: 'i-1' };
  const other = { kind: 'machine', resourceId: 'i-2' };
  const given = { hasFailed: false, isUncertain: false, made: MADE, nowIso: '2026-03-01T12:00:00.000Z' };
  const of = (sandboxId: string, ...resources: readonly ReturnType<typeof withFate>[]) => ({
    sandboxId,
    resources: resources.flat(),
  });
  const endsOf = (rows: readonly TeardownRow[]) =>
    Object.fromEntries(rows.map(({ kind, resourceId, end }) => [`${kind} ${resourceId}`, end]));

  it('leaves open what it has set aside while another machine of the attempt does not go', () => {
    const rows = open(machine, other);
    const reports = [of('i-1', withFate([machine], 'set-aside')), of('i-2', withFate([other], 'left'))];
    const { changed, left, isOver } = decideTeardown({ ...given, rows, mode: 'stop', reports });
    expect([changed, left, isOver]).toEqual([[], rows, false]);
    const last = [of('i-1', withFate([machine], 'set-aside')), of('i-2', withFate([other], 'gone'))];
    expect(endsOf(decideTeardown({ ...given, rows, mode: 'stop', reports: last }).changed)).toEqual({
      'intent a.1': 'stopped',
      'schedule a.1': 'gone',
      'machine i-1': 'stopped',
      'machine i-2': 'gone',
    });
  });

  it('remembers a sandbox without a machine by its own name when it is detached', () => {
    const folder = { kind: 'folder', resourceId: '/sandboxes/a' };
    const reports = [of('a', withFate([folder], 'set-aside'))];
    const { detached } = decideTeardown({ ...given, rows: open(folder), mode: 'detach', reports });
    expect(detached).toEqual([
      { attemptId: 'a.1', provider: 'aws', sandboxId: 'a', detachedAt: given.nowIso, why: null },
    ]);
  });

  it('that failed of one machine closes what was seen gone of another, and nothing else', () => {
    const reports = [of('i-2', withFate([other], 'gone'))];
    const decided = decideTeardown({ ...given, rows: open(machine, other), mode: 'delete', reports, hasFailed: true });
    expect(endsOf(decided.changed)).toEqual({ 'machine i-2': 'gone' });
    expect(decided.left.map(({ kind }) => kind)).toEqual([INTENT, 'schedule', 'machine']);
  });

  it('ends a row that nobody named as the rest of its attempt ends', () => {
    const volume = { kind: 'volume', resourceId: 'vol-1' };
    const ended = (fate: Fate) => {
      const reports = [of('i-1', withFate([machine], fate))];
      const { changed } = decideTeardown({ ...given, rows: open(machine, volume), mode: 'keep', reports });
      return changed.find(({ kind }) => kind === 'volume')?.end;
    };
    expect([ended('gone'), ended('set-aside'), ended('not-ours')]).toEqual(['gone', 'kept', 'detached']);
  });
});
