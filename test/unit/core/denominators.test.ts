import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LEDGER_CLASSES,
  ledgerOf,
  NOT_RUN_REASONS,
  resultsOf,
  wilsonInterval,
  type LedgerClass,
  type LedgerRow,
} from '#core/denominators';

function row(unitId: string, kind: LedgerClass, score = 0.5): LedgerRow {
  return {
    unitId,
    class: kind,
    score: kind === 'scored' ? score : null,
    notRunReason: kind === 'not_run' ? 'budget' : null,
  };
}

const sweeps = fc
  .uniqueArray(fc.string({ minLength: 1 }), { maxLength: 40 })
  .chain((ids) =>
    fc
      .tuple(
        ...ids.map((id) =>
          fc.option(
            fc
              .tuple(fc.constantFrom(...LEDGER_CLASSES), fc.constantFrom(0, 0.4, 1))
              .map(([kind, score]) => row(id, kind, score)),
          ),
        ),
      )
      .map((rows) => ({ ids, rows: rows.filter((each) => each !== null) })),
  );

describe('ledgerOf', () => {
  it('puts every planned unit in exactly one class', () => {
    fc.assert(
      fc.property(sweeps, ({ ids, rows }) => {
        const ledger = ledgerOf(ids, rows);
        const sum = LEDGER_CLASSES.reduce((total, each) => total + ledger.counts[each], 0);
        expect(sum).toBe(ids.length);
        expect(ledger.planned).toBe(ids.length);
        expect(NOT_RUN_REASONS.reduce((total, each) => total + ledger.notRun[each], 0)).toBe(ledger.counts.not_run);
        for (const each of LEDGER_CLASSES) {
          const missing = each === 'open' ? ids.length - rows.length : 0;
          expect(ledger.counts[each]).toBe(rows.filter((one) => one.class === each).length + missing);
        }
      }),
    );
  });

  it.each([
    ['a unit that was not planned', ['a'], [row('b', 'lost')], /"b" is not in the plan/],
    [
      'two rows of one unit',
      ['a', 'b'],
      [row('a', 'lost'), row('a', 'lost')],
      /"a" is not in the plan, or has two rows/,
    ],
    ['a unit planned twice', ['a', 'a'], [], /planned twice/],
    ['a score on a lost unit', ['a'], [{ ...row('a', 'lost'), score: 0 }], /lost with score 0/],
    ['a scored unit without a score', ['a'], [{ ...row('a', 'scored'), score: null }], /scored with score null/],
    [
      'a unit that was not run without a reason',
      ['a'],
      [{ ...row('a', 'not_run'), notRunReason: null }],
      /reason null/,
    ],
  ])('refuses %s', (_, ids, rows, message) => {
    expect(() => ledgerOf(ids, rows)).toThrow(message);
  });
});

describe('resultsOf', () => {
  const rows = [
    row('a', 'scored', 1),
    row('b', 'scored', 0.5),
    row('c', 'forfeited'),
    row('d', 'lost'),
    row('e', 'task_fault'),
    row('f', 'not_run'),
    row('g', 'open'),
  ];

  it('counts lost units as 0, not at all, and as 1', () => {
    const [zero, excluded, one] = resultsOf(rows);
    expect(zero).toMatchObject({ treatment: 'zero', denominator: 4, passes: 1, passRate: 0.25, meanScore: 0.375 });
    expect(excluded).toMatchObject({ treatment: 'excluded', denominator: 3, passes: 1, meanScore: 0.5 });
    expect(one).toMatchObject({ treatment: 'one', denominator: 4, passes: 2, passRate: 0.5, meanScore: 0.625 });
  });

  it('keeps pass rate and mean score apart and states the threshold', () => {
    expect(resultsOf(rows)[1]?.passRate).toBeCloseTo(1 / 3);
    expect(resultsOf(rows, 0.5)[1]).toMatchObject({ passThreshold: 0.5, passes: 2 });
    expect(() => resultsOf(rows, 0)).toThrow(/threshold is 0/);
  });

  it('has no rates when nothing counts', () => {
    expect(resultsOf([row('a', 'open')])[0]).toMatchObject({ denominator: 0, passRate: null, passInterval: null });
  });

  it('never falls from one treatment to the next in the order 0, excluded, 1', () => {
    fc.assert(
      fc.property(sweeps, ({ rows: some }) => {
        const rates = resultsOf(some).map((each) => each.meanScore);
        const known = rates.filter((rate) => rate !== null);
        expect([...known].sort((a, b) => a - b)).toEqual(known);
        for (const rate of known) expect(rate >= 0 && rate <= 1).toBe(true);
      }),
    );
  });
});

describe('wilsonInterval', () => {
  it('solves (p - share)^2 = z^2 p (1 - p) / n at both ends', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.nat(500), (trials, some) => {
        const passes = some % (trials + 1);
        const { low, high } = wilsonInterval(passes, trials);
        const share = passes / trials;
        expect(low >= 0 && low <= share && share <= high && high <= 1).toBe(true);
        for (const edge of [low, high]) {
          const gap = (edge - share) ** 2 - (1.959963984540054 ** 2 * edge * (1 - edge)) / trials;
          if (edge > 0 && edge < 1) expect(Math.abs(gap)).toBeLessThan(1e-12);
        }
      }),
    );
  });

  it('gives the published values for 0 and 1 of 10 and 81 of 263', () => {
    expect(wilsonInterval(0, 10).high).toBeCloseTo(0.2775, 4);
    expect(wilsonInterval(1, 10).low).toBeCloseTo(0.0179, 4);
    expect(wilsonInterval(81, 263).low).toBeCloseTo(0.2553, 4);
    expect(wilsonInterval(81, 263).high).toBeCloseTo(0.3662, 4);
  });

  it('refuses what is no proportion', () => {
    expect(() => wilsonInterval(2, 1)).toThrow(RangeError);
    expect(() => wilsonInterval(0, 0)).toThrow(RangeError);
  });
});
