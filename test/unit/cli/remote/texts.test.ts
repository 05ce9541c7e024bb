import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallAnswer } from '#cli/remote/api-client';
import { costsText } from '#cli/remote/costs-text';
import { plainText } from '#cli/remote/plain-text';
import { sweepState, sweepTable, sweepText, waitSentence, whyHint } from '#cli/remote/sweep-text';
import { textTable, type Column } from '#cli/remote/text-table';
import { eventJson, eventText } from '#cli/remote/unit-log';
import { attemptDetail, ledger, sweepDetail, sweepSummary, UNIT_ID, unitDetail } from './api-answers.ts';

const columns: readonly Column<readonly [string, string]>[] = [
  { title: 'name', of: ([name]) => name, shrinks: true },
  { title: 'count', of: ([, count]) => count, align: 'right' },
];

describe('text from elsewhere', () => {
  it('never moves a cursor, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(plainText(text)).not.toMatch(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
    expect(plainText('a\u001b[2Jb\nc')).toBe('a\ufffd[2Jb c');
  });

  it('is one event a line, also where it is none', () => {
    expect(eventText('{"ts":"2026-01-02T03:04:05Z","type":"run_started","data":{"n":1,"s":"a\\u001b[31m"}}')).toBe(
      `2026-01-02T03:04:05Z  ${'run_started'.padEnd(26)}  n=1  s=a\ufffd[31m`,
    );
    expect(eventText('no json\u0007')).toBe('no json\ufffd');
    expect(eventJson('no json')).toBe('{"raw":"no json"}');
  });
});

describe('a table', () => {
  it('fits the terminal, by what may shrink, and keeps both ends of it', () => {
    const text = textTable(columns, [['sw-abcdefghijklmnopqrstuvwxyz', '12']], 24);
    expect(text.split('\n')).toEqual(['name               count', 'sw-abcd...tuvwxyz     12']);
  });

  it('is never wider than the terminal, for any names', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string(), fc.nat(9999).map(String))),
        fc.integer({ min: 20, max: 80 }),
        (rows, width) => {
          for (const line of textTable(columns, rows, width).split('\n'))
            expect(Array.from(line).length).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it('is whole where there is no terminal', () => {
    expect(textTable(columns, [['n'.repeat(300), '1']], null)).toContain('n'.repeat(300));
  });

  it('of sweeps has no column of costs for whoever sees none', () => {
    expect(sweepTable([sweepSummary()], null)).not.toContain('spent');
    expect(sweepTable([sweepSummary({ spentUsd: 1.5 })], null)).toContain('$1.50');
    expect(sweepTable([sweepSummary()], null)).toContain('role/operators');
  });
});

describe('how a sweep stands', () => {
  it.each([
    [{}, 'running'],
    [{ paused: true }, 'running (paused)'],
    [{ cancelled: true, paused: true }, 'running (cancelling)'],
    [{ cancelled: true, status: 'closed' }, 'closed (cancelled)'],
    [{ paused: true, status: 'closed' }, 'closed'],
  ] as const)('%j is %s', (changes, text) => {
    expect(sweepState(sweepSummary(changes))).toBe(text);
  });
});

describe('what a unit waits for', () => {
  it('is a sentence for an open one and for a closed one', () => {
    const waitsFor = {
      what: 'admission',
      since: '2026-01-02T03:04:05Z',
      until: '2026-01-16T03:04:05Z',
      why: 'all 4 slots are taken',
    } as const;
    const open = unitDetail({ class: 'open', score: null, closedAt: null, waitsFor });
    expect(waitSentence(open)).toBe(
      `${UNIT_ID} waits for a slot, since 2026-01-02T03:04:05Z, at the longest until 2026-01-16T03:04:05Z: all 4 slots are taken`,
    );
    expect(waitSentence(unitDetail())).toBe(
      `${UNIT_ID} waits for nothing: it closed 2026-01-02T03:14:05.000Z as scored, completed with score 1.0000.`,
    );
  });

  it('is nothing for one that was refused, and then the sentence says why, by whom, in one line', () => {
    const error = 'SandboxRefusedError: provider aws cannot give tenancy "dedicated"\nChange the request\u001b[2J';
    const refused = attemptDetail({ attemptId: `${UNIT_ID}.2`, blame: 'caller', error, grades: [] });
    const unit = unitDetail({ class: 'not_run', notRunReason: 'refused', status: 'not_executed', score: null });
    expect(waitSentence({ ...unit, attemptList: [attemptDetail(), refused] })).toBe(
      `${UNIT_ID} waits for nothing: it closed 2026-01-02T03:14:05.000Z as not_run (refused), not_executed. ` +
        `${UNIT_ID}.2 (blame: caller): SandboxRefusedError: provider aws cannot give tenancy "dedicated" Change the request\ufffd[2J`,
    );
    const ungraded = { number: 1, kind: 'ungraded', score: null, reason: 'its reference is broken' } as const;
    const faulty = attemptDetail({ blame: 'task', error: null, grades: [ungraded] });
    expect(waitSentence(unitDetail({ class: 'task_fault', score: null, attemptList: [faulty] }))).toMatch(
      /\(blame: task\): its reference is broken$/u,
    );
    expect(waitSentence(unitDetail({ class: 'not_run', score: null, attemptList: [] }))).toMatch(/completed\.$/u);
  });
});

describe('units without a grade', () => {
  it('point to the command that says why, in lists and in the sweep, and others to nothing', () => {
    const lost = { unitId: UNIT_ID, class: 'lost' } as const;
    expect(
      whyHint([
        { ...lost, class: 'open' },
        { ...lost, class: 'scored' },
      ]),
    ).toBe('');
    expect(whyHint([{ ...lost, class: 'scored' }, lost])).toBe(
      `\n\`examhall why ${UNIT_ID}\` says why that unit is lost`,
    );
    const sweep = sweepDetail({ ledger: ledger({ scored: 1, not_run: 1 }) });
    expect(sweepText(sweep)).toContain(`\`examhall units ${sweep.sweepId} --class not_run\``);
    expect(sweepText(sweepDetail({ ledger: ledger({ scored: 1, open: 1 }) }))).not.toContain('examhall why');
  });
});

describe('costs', () => {
  const figures: CallAnswer<'getCosts'>['total'] = {
    attempts: 3,
    knownUsd: 1.25,
    partsUsd: { machine: 1.25, disk: 0, address: 0, transfer: 0, orchestration: 0, tokens: 0 },
    observedUsd: 0,
    estimatedUsd: 1.25,
    unknownParts: 1,
    coverage: 0.99999,
  };
  const costs: CallAnswer<'getCosts'> = {
    groupBy: 'sweep',
    from: '2026-01-01',
    to: '2026-01-31',
    rows: [{ key: 'sw-1', ...figures }],
    total: figures,
    priceSheets: ['2026-11-30'],
  };

  it('say what is unknown, and never round it away', () => {
    const text = costsText(costs, null);
    expect(text).toContain('1 parts are unknown (99.9 % known) and in no sum, so the true costs are higher');
    expect(text).toMatch(/^sw-1 +3 +1\.25 +1\.25 +99\.9 %$/mu);
    expect(text).toContain('price sheets of 2026-11-30');
  });

  it('of no attempts say so', () => {
    const nothing = { ...costs, rows: [], total: { ...figures, attempts: 0, coverage: null } };
    expect(costsText(nothing, null)).toContain('no attempts closed in these days');
  });
});
