import { type Table } from './csv.ts';
import { isWithin, parseDecimal } from './numbers.ts';

/** How the cells of one value column are compared. */
export type ColumnRule =
  | { readonly kind: 'text' }
  /** Both blank is equal; otherwise both must be numbers no further apart than `tolerance`. */
  | { readonly kind: 'number'; readonly tolerance: number };

export interface TableRules {
  /** Columns that name a row; their text is trimmed, and compared as numbers where both sides are numbers. */
  readonly key: readonly string[];
  readonly values: Readonly<Record<string, ColumnRule>>;
}

export interface TableComparison {
  /** Right cells over all cells that are expected or stand in an unexpected row. */
  readonly score: number;
  readonly rightCells: number;
  readonly cells: number;
  readonly missingRows: number;
  readonly extraRows: number;
  readonly missingColumns: readonly string[];
}

/**
 * Compares two tables by key, whatever the order of rows and columns. A key that occurs more than once in `actual` earns
 * nothing, and each repetition counts as an extra row; columns that no rule names are ignored.
 * @throws Error when the expected table is empty, lacks a column of the rules, or repeats a key: the reference is broken.
 */
export function compareTables(actual: Table, expected: Table, rules: TableRules): TableComparison {
  const valueNames = Object.keys(rules.values);
  const wanted = indexRows(expected, rules.key);
  checkExpected(expected, wanted, [...rules.key, ...valueNames]);
  const found = indexRows(actual, rules.key);
  const missingColumns = [...rules.key, ...valueNames].filter((name) => !actual.columns.includes(name));
  const hasKey = rules.key.every((name) => actual.columns.includes(name));

  let rightCells = 0;
  let missingRows = 0;
  for (const [key, [want]] of wanted) {
    const rows = hasKey ? (found.get(key) ?? []) : [];
    const [row] = rows;
    if (row === undefined || rows.length > 1 || want === undefined) missingRows += 1;
    else rightCells += valueNames.filter((name) => isSameCell(row[name], want[name], rules.values[name])).length;
  }
  const extraRows = [...found].reduce((sum, [key, rows]) => sum + rows.length - (wanted.has(key) && hasKey ? 1 : 0), 0);
  const cells = (wanted.size + extraRows) * valueNames.length;
  return { score: rightCells / cells, rightCells, cells, missingRows, extraRows, missingColumns };
}

type Row = Table['rows'][number];

function indexRows(table: Table, key: readonly string[]): ReadonlyMap<string, readonly Row[]> {
  const index = new Map<string, Row[]>();
  for (const row of table.rows) {
    const name = JSON.stringify(key.map((column) => normalizeKey(row[column] ?? '')));
    const rows = index.get(name);
    if (rows === undefined) index.set(name, [row]);
    else rows.push(row);
  }
  return index;
}

/** `5`, `5.0` and `05` name the same row; other text must be equal once trimmed. */
function normalizeKey(text: string): string | number {
  return parseDecimal(text) ?? text.trim();
}

function isSameCell(actual: string | undefined, expected: string | undefined, rule: ColumnRule | undefined): boolean {
  if (actual === undefined || expected === undefined || rule === undefined) return false;
  const [a, b] = [actual.trim(), expected.trim()];
  if (rule.kind === 'text' || b === '') return a === b;
  const [x, y] = [parseDecimal(a), parseDecimal(b)];
  return x !== null && y !== null && isWithin(x, y, rule.tolerance);
}

function checkExpected(expected: Table, wanted: ReadonlyMap<string, readonly Row[]>, columns: readonly string[]): void {
  if (expected.rows.length === 0) throw new Error('the expected table has no rows');
  const missing = columns.filter((name) => !expected.columns.includes(name));
  if (missing.length > 0) throw new Error(`the expected table lacks the columns ${missing.join(', ')}`);
  const repeated = [...wanted].find(([, rows]) => rows.length > 1);
  if (repeated !== undefined) throw new Error(`the expected table repeats the key ${repeated[0]}`);
}
