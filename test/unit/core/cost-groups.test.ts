import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { CostsSchema } from '#contracts/api-schemas';
import { costsCsv, groupCosts, type CostFigures, type GroupBy } from '#core/cost-groups';
import { COST_PARTS, type CostEntry } from '#core/record';
import type { UsageRow } from '#core/usage-row';
import { usageRow } from '#test/builders/costs';

const GROUPS: readonly GroupBy[] = ['sweep', 'agent', 'task', 'owner', 'costCenter', 'blame'];
const days = { from: '2026-01-01', to: '2026-01-31' };

const entry = (part: CostEntry['part']): fc.Arbitrary<CostEntry> =>
  fc.oneof(
    fc.record({
      part: fc.constant(part),
      basis: fc.constantFrom('observed' as const, 'estimated' as const),
      usd: fc.double({ min: 0, max: 1000, noNaN: true }),
      note: fc.constant(null),
    }),
    fc.constant({ part, basis: 'unknown' as const, usd: null, note: null }),
  );

const name = fc.constantFrom('a', 'b', '=1+1', 'x,"y"', 'ü', 'constructor');
const anyRow: fc.Arbitrary<UsageRow> = fc
  .record({
    names: fc.record({ sweepId: name, agentId: name, taskPath: name, owner: name, costCenter: name, blame: name }),
    cost: fc.tuple(...COST_PARTS.map(entry)),
  })
  .map(({ names, cost }) => usageRow(names, cost));
const anyRows = fc.array(anyRow, { maxLength: 40 });
const anyGroup = fc.constantFrom(...GROUPS);

const sum = (figures: readonly CostFigures[], of: (each: CostFigures) => number): number =>
  figures.reduce((total, each) => total + of(each), 0);

describe('costs in groups', () => {
  it('fit the API, whatever is grouped', () => {
    fc.assert(
      fc.property(anyRows, anyGroup, (rows, groupBy) => {
        CostsSchema.parse(groupCosts(rows, { groupBy, ...days }));
      }),
    );
  });

  it('add up to the total, part by part and in every count', () => {
    fc.assert(
      fc.property(anyRows, anyGroup, (rows, groupBy) => {
        const { rows: groups, total } = groupCosts(rows, { groupBy, ...days });
        expect(sum(groups, ({ attempts }) => attempts)).toBe(rows.length);
        expect(total.attempts).toBe(rows.length);
        expect(sum(groups, ({ unknownParts }) => unknownParts)).toBe(total.unknownParts);
        expect(sum(groups, ({ knownUsd }) => knownUsd)).toBeCloseTo(total.knownUsd, 6);
        for (const part of COST_PARTS)
          expect(sum(groups, ({ partsUsd }) => partsUsd[part])).toBeCloseTo(total.partsUsd[part], 6);
        expect(Object.values(total.partsUsd).reduce((all, usd) => all + usd, 0)).toBeCloseTo(total.knownUsd, 6);
        expect(total.observedUsd + total.estimatedUsd).toBeCloseTo(total.knownUsd, 6);
      }),
    );
  });

  it('are the same in whatever order the rows come', () => {
    fc.assert(
      fc.property(anyRows, anyGroup, (rows, groupBy) => {
        const question = { groupBy, ...days };
        expect(groupCosts(rows.toReversed(), question)).toEqual(groupCosts(rows, question));
      }),
    );
  });

  it('lose coverage by an unknown part, and gain nothing', () => {
    fc.assert(
      fc.property(anyRows, anyRow, fc.constantFrom(...COST_PARTS), (rows, row, part) => {
        const hidden = usageRow(
          row,
          row.cost.map((each) => (each.part === part ? { part, basis: 'unknown', usd: null, note: null } : each)),
        );
        const question = { groupBy: 'sweep', ...days } as const;
        const [with_, without] = [row, hidden].map((each) => groupCosts([...rows, each], question).total);
        expect(without?.coverage).toBeLessThanOrEqual(with_?.coverage ?? -1);
        expect(without?.partsUsd[part]).toBeLessThanOrEqual(with_?.partsUsd[part] ?? 0);
        expect(without?.knownUsd).toBeLessThanOrEqual(with_?.knownUsd ?? 0);
      }),
    );
  });

  it('count a part that a row does not have as unknown', () => {
    const { total } = groupCosts([usageRow({}, [])], { groupBy: 'sweep', ...days });
    expect(total).toMatchObject({ attempts: 1, knownUsd: 0, unknownParts: 6, coverage: 0 });
  });

  it('of nothing are nothing, and nobody knows a share of it', () => {
    const costs = groupCosts([], { groupBy: 'agent', ...days });
    expect(costs).toMatchObject({ rows: [], priceSheets: [], total: { attempts: 0, knownUsd: 0, coverage: null } });
    expect(costsCsv(costs)).toMatch(/^total,0,.*,0,$/mu);
  });

  it('name the sheets they come from', () => {
    const rows = ['b 2026-02-01', 'a 2026-01-01', null, 'a 2026-01-01'].map((sheet) => usageRow({ priceSheet: sheet }));
    expect(groupCosts(rows, { groupBy: 'sweep', ...days }).priceSheets).toEqual(['a 2026-01-01', 'b 2026-02-01']);
  });
});

describe('costs as CSV', () => {
  it('are read back by a reader of RFC 4180, each line as long as the head, the total last', () => {
    fc.assert(
      fc.property(anyRows, anyGroup, (rows, groupBy) => {
        const costs = groupCosts(rows, { groupBy, ...days });
        const text = costsCsv(costs);
        expect(text.endsWith('\r\n')).toBe(true);
        const lines = parse(text, { relax_column_count: false });
        expect(lines.length).toBe(costs.rows.length + 2);
        expect(lines[0]?.[0]).toBe(groupBy);
        expect(lines.at(-1)?.[0]).toBe('total');
        expect(lines.slice(1, -1).map(([key]) => key?.replace(/^'/u, ''))).toEqual(costs.rows.map(({ key }) => key));
      }),
    );
  });

  it.each(['=HYPERLINK("http://x")', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', '\r=1'])(
    'keep %j from being a formula',
    (agentId) => {
      const text = costsCsv(groupCosts([usageRow({ agentId })], { groupBy: 'agent', ...days }));
      const [, line] = parse(text);
      expect(line?.[0]).toBe(`'${agentId}`);
    },
  );
});
