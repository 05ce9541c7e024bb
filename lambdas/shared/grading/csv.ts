import { parse } from 'csv-parse/sync';

/** A CSV table with a header; every cell is text. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, string>>[];
}

export type TableReading =
  | { readonly ok: true; readonly table: Table }
  /** Why the text is not a table, for the grade's details. */
  | { readonly ok: false; readonly reason: string };

/** Bound on agent-made tables: beyond it the file is refused rather than read. */
export const MAX_TABLE_ROWS = 100_000;

/**
 * Reads RFC 4180 text with a header line; a byte order mark and blank lines are skipped, header names are trimmed.
 * Never throws for what the text holds.
 */
export function readTable(text: string): TableReading {
  const lines = parseLines(text);
  if (!Array.isArray(lines)) return { ok: false, reason: lines.reason };
  const [header, ...body] = lines;
  if (header === undefined) return { ok: false, reason: 'the file is empty; the first line must be the header' };
  const columns = header.map((name) => name.trim());
  const repeated = columns.find((name, index) => columns.indexOf(name) !== index);
  if (repeated !== undefined)
    return { ok: false, reason: `column ${JSON.stringify(repeated)} occurs twice in the header` };
  if (body.length > MAX_TABLE_ROWS) {
    return { ok: false, reason: `the table has ${body.length} rows, at most ${MAX_TABLE_ROWS} are read` };
  }
  const rows = body.map((cells) => Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ''])));
  return { ok: true, table: { columns, rows } };
}

function parseLines(text: string): string[][] | { readonly reason: string } {
  try {
    return parse(text, { bom: true, skip_empty_lines: true, relax_column_count: false });
  } catch (error) {
    return { reason: `not a CSV table: ${error instanceof Error ? error.message : String(error)}` };
  }
}
