import { plainText } from './plain-text.ts';

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string;
  readonly align?: 'right';
  /** Shortened, the longest first, where the terminal is too narrow; others stay whole. */
  readonly shrinks?: true;
}

const GAP = '  ';
const LEAST_WIDTH = 8;
const DOTS = '...';

/**
 * A table as text, one line a row, no final newline. `width` null is as wide as it gets, for files and pipes.
 * What comes from elsewhere is made printable.
 */
export function textTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number | null): string {
  const cells = rows.map((row) => columns.map(({ of }) => plainText(of(row), 500)));
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((line) => lengthOf(line[at] ?? ''))),
  );
  if (width !== null) shrink(columns, widths, width);
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, at) => fit(text, widths[at] ?? 0, columns[at]?.align === 'right'))
      .join(GAP)
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...cells.map(line)].join('\n');
}

/** Width of the terminal behind a stream; null where there is none. */
export function widthOf(stream: NodeJS.WriteStream = process.stdout): number | null {
  return stream.isTTY ? Math.max(40, stream.columns) : null;
}

function shrink<Row>(columns: readonly Column<Row>[], widths: number[], width: number): void {
  const total = (): number => widths.reduce((sum, each) => sum + each, 0) + GAP.length * (widths.length - 1);
  while (total() > width) {
    const candidates = columns.flatMap(({ shrinks }, at) =>
      shrinks === true && (widths[at] ?? 0) > LEAST_WIDTH ? [at] : [],
    );
    const [widest] = candidates.toSorted((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0));
    if (widest === undefined) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

function fit(text: string, width: number, isRight: boolean): string {
  const characters = Array.from(text);
  const short = characters.length <= width ? text : shortened(characters, width);
  const padding = ' '.repeat(Math.max(0, width - lengthOf(short)));
  return isRight ? `${padding}${short}` : `${short}${padding}`;
}

/** Ids differ at their ends as well as at their beginnings: the middle goes. */
function shortened(characters: readonly string[], width: number): string {
  const kept = Math.max(2, width - DOTS.length);
  const head = Math.ceil(kept / 2);
  return [...characters.slice(0, head), DOTS, ...characters.slice(characters.length - (kept - head))].join('');
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}
