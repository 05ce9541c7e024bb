import { COST_PARTS, type CostPart } from './record.ts';
import type { UsageRow } from './usage-row.ts';

/** What costs are grouped by: a word of the question, and the field of a usage row that answers it. */
const FIELD_OF_GROUP = {
  sweep: 'sweepId',
  agent: 'agentId',
  task: 'taskPath',
  owner: 'owner',
  costCenter: 'costCenter',
  blame: 'blame',
} as const satisfies Record<string, keyof UsageRow>;
export type GroupBy = keyof typeof FIELD_OF_GROUP;

export interface CostFigures {
  readonly attempts: number;
  readonly knownUsd: number;
  readonly partsUsd: Readonly<Record<CostPart, number>>;
  readonly observedUsd: number;
  readonly estimatedUsd: number;
  readonly unknownParts: number;
  /** Share of parts that are known; null where no attempt was closed. */
  readonly coverage: number | null;
}

/** Costs of attempts, grouped. */
export interface GroupedCosts {
  readonly groupBy: GroupBy;
  readonly from: string;
  readonly to: string;
  /** The dearest first, equals by key. */
  readonly rows: readonly ({ readonly key: string } & CostFigures)[];
  readonly total: CostFigures;
  readonly priceSheets: readonly string[];
}

export interface CostQuestion {
  readonly groupBy: GroupBy;
  readonly from: string;
  readonly to: string;
}

/** Amounts are summed as whole billionths of a dollar, so that groups add up to the total in any order. */
const NANO = 1e9;

interface Sums {
  attempts: number;
  unknownParts: number;
  readonly nanoByPart: Map<CostPart, number>;
  readonly nanoByBasis: Map<string, number>;
}

const emptySums = (): Sums => ({ attempts: 0, unknownParts: 0, nanoByPart: new Map(), nanoByBasis: new Map() });

/** Sums usage rows one by one, so that a year of them need not be held. */
export class CostGrouper {
  readonly #groups = new Map<string, Sums>();
  readonly #total = emptySums();
  readonly #sheets = new Set<string>();
  readonly #question: CostQuestion;

  constructor(question: CostQuestion) {
    this.#question = question;
  }

  add(row: UsageRow): void {
    const key = row[FIELD_OF_GROUP[this.#question.groupBy]];
    const group = this.#groups.get(key) ?? emptySums();
    this.#groups.set(key, group);
    count(group, row);
    count(this.#total, row);
    if (row.priceSheet !== null) this.#sheets.add(row.priceSheet);
  }

  result(): GroupedCosts {
    const { groupBy, from, to } = this.#question;
    const rows = [...this.#groups].map(([key, sums]) => ({ key, ...figuresOf(sums) }));
    rows.sort((one, other) => other.knownUsd - one.knownUsd || (one.key < other.key ? -1 : 1));
    return { groupBy, from, to, rows, total: figuresOf(this.#total), priceSheets: [...this.#sheets].sort() };
  }
}

export function groupCosts(rows: Iterable<UsageRow>, question: CostQuestion): GroupedCosts {
  const grouper = new CostGrouper(question);
  for (const row of rows) grouper.add(row);
  return grouper.result();
}

/** A part that the row does not have is as unknown as one that it calls so. */
function count(sums: Sums, row: UsageRow): void {
  sums.attempts += 1;
  for (const part of COST_PARTS) {
    const entries = row.cost.filter((each) => each.part === part);
    if (entries.length === 0 || entries.some(({ usd }) => usd === null)) sums.unknownParts += 1;
    for (const { basis, usd } of entries) {
      if (usd === null) continue;
      const nano = Math.round(usd * NANO);
      sums.nanoByPart.set(part, (sums.nanoByPart.get(part) ?? 0) + nano);
      sums.nanoByBasis.set(basis, (sums.nanoByBasis.get(basis) ?? 0) + nano);
    }
  }
}

function figuresOf({ attempts, unknownParts, nanoByPart, nanoByBasis }: Sums): CostFigures {
  const usdOf = (part: CostPart): number => (nanoByPart.get(part) ?? 0) / NANO;
  const parts = attempts * COST_PARTS.length;
  return {
    attempts,
    knownUsd: [...nanoByPart.values()].reduce((sum, nano) => sum + nano, 0) / NANO,
    partsUsd: {
      machine: usdOf('machine'),
      disk: usdOf('disk'),
      address: usdOf('address'),
      transfer: usdOf('transfer'),
      orchestration: usdOf('orchestration'),
      tokens: usdOf('tokens'),
    },
    observedUsd: (nanoByBasis.get('observed') ?? 0) / NANO,
    estimatedUsd: (nanoByBasis.get('estimated') ?? 0) / NANO,
    unknownParts,
    coverage: parts === 0 ? null : (parts - unknownParts) / parts,
  };
}

const CSV_COLUMNS = [
  'attempts',
  'known_usd',
  ...COST_PARTS.map((part) => `${part}_usd`),
  'observed_usd',
  'estimated_usd',
  'unknown_parts',
  'coverage',
];

/**
 * RFC 4180: a head, a line for each group, and the total as the last one. A text that a spreadsheet would take for a
 * formula gets an apostrophe in front.
 */
export function costsCsv(costs: GroupedCosts): string {
  const lines = [
    [costs.groupBy, ...CSV_COLUMNS],
    ...costs.rows.map(({ key, ...figures }) => [key, ...csvFigures(figures)]),
    ['total', ...csvFigures(costs.total)],
  ];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

function csvFigures(figures: CostFigures): readonly string[] {
  const { attempts, knownUsd, partsUsd, observedUsd, estimatedUsd, unknownParts, coverage } = figures;
  const usd = (amount: number): string => amount.toFixed(9);
  return [
    String(attempts),
    usd(knownUsd),
    ...COST_PARTS.map((part) => usd(partsUsd[part])),
    usd(observedUsd),
    usd(estimatedUsd),
    String(unknownParts),
    coverage?.toFixed(4) ?? '',
  ];
}

function csvCell(text: string): string {
  const safe = /^\s*[=+\-@\t\r]/u.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
