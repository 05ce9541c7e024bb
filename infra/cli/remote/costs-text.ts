import type { Costs } from '#contracts/api-schemas';
import { COST_PARTS } from '#core/record';
import { ownerText } from './sweep-text.ts';
import { textTable, type Column } from './text-table.ts';

type Row = Costs['rows'][number];

/** Costs as a table with its total, what is unknown, and where the estimates come from. No final newline. */
export function costsText(costs: Costs, width: number | null): string {
  const { from, to, groupBy, rows, total, priceSheets } = costs;
  const used = COST_PARTS.filter((part) => [total, ...rows].some(({ partsUsd }) => partsUsd[part] !== 0));
  const columns: Column<Row>[] = [
    { title: groupBy, of: ({ key }) => (groupBy === 'owner' ? ownerText(key) : key), shrinks: true },
    { title: 'attempts', of: ({ attempts }) => String(attempts), align: 'right' },
    ...used.map((part): Column<Row> => ({
      title: part,
      of: ({ partsUsd }) => usd(partsUsd[part]),
      align: 'right',
    })),
    { title: 'known, USD', of: ({ knownUsd }) => usd(knownUsd), align: 'right' },
    { title: 'coverage', of: ({ coverage }) => percent(coverage), align: 'right' },
  ];
  const head = `${from} to ${to} (UTC days, both included)`;
  if (rows.length === 0) return `${head}\nno attempts closed in these days`;
  const table = textTable(columns, [...rows, { ...total, key: 'total' }], width);
  return [head, table, coverageText(total), sheetsText(priceSheets)].join('\n');
}

/** What the sum leaves out: unknown is never zero. */
function coverageText({ unknownParts, coverage, observedUsd, estimatedUsd }: Costs['total']): string {
  const sources = `observed ${usd(observedUsd)}, estimated ${usd(estimatedUsd)}`;
  if (unknownParts === 0) return `${sources}; every part is known`;
  return `${sources}; ${String(unknownParts)} parts are unknown (${percent(coverage)} known) and in no sum, so the true costs are higher`;
}

function sheetsText(priceSheets: readonly string[]): string {
  return priceSheets.length === 0
    ? 'no price sheet was used'
    : `estimates by the price sheets of ${priceSheets.join(', ')}`;
}

function usd(value: number): string {
  return value !== 0 && Math.abs(value) < 0.01 ? value.toFixed(6) : value.toFixed(2);
}

/** Never rounded up to 100 %; of nothing there is no share. */
function percent(share: number | null): string {
  if (share === null) return '-';
  return `${(Math.floor(share * 1000) / 10).toFixed(1)} %`;
}
