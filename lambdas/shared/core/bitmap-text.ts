import { clip, maskOf, type Raster, type Rectangle } from './raster.ts';

/** Characters as rows of dots, `#` where there is ink; all rows of one are equally long. */
export type GlyphTable = Readonly<Record<string, readonly string[]>>;

export interface TextRules {
  /** `#rrggbb` of the ink. */
  readonly ink: string;
  /** Pixels of one dot, each way. */
  readonly dot: number;
  readonly glyphs: GlyphTable;
  readonly tolerance?: number;
}

/** A text, or why there is none. */
export type TextReading =
  { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

/** Reads one line of a bitmap font, whose characters are parted by columns without ink, dot by dot. */
export function readBitmapText(raster: Raster, rectangle: Rectangle, rules: TextRules): TextReading {
  const within = clip(raster, rectangle);
  const dots = dotsOf(maskOf(raster, within, rules.ink, rules.tolerance), within, rules.dot);
  if (dots.length === 0) return { ok: false, reason: `no pixel there has the ink ${rules.ink}` };
  const shapes = new Map(Object.entries(rules.glyphs).map(([name, rows]) => [trimmed(rows).join('/'), name]));
  let text = '';
  for (const glyph of columnsParted(dots)) {
    const shape = trimmed(glyph).join('/');
    const name = shapes.get(shape);
    if (name === undefined) {
      return { ok: false, reason: `after ${JSON.stringify(text)} comes a shape of no known character: ${shape}` };
    }
    text += name;
  }
  return { ok: true, text };
}

/** The ink as rows of dots, from its first column and row; a dot is what its middle pixel is. */
function dotsOf(mask: Uint8Array, { width, height }: Rectangle, dot: number): readonly string[] {
  const inked = (x: number, y: number): boolean => mask[y * width + x] === 1;
  const columns = Array.from({ length: width }, (_, x) => x);
  const rows = Array.from({ length: height }, (_, y) => y).filter((y) => columns.some((x) => inked(x, y)));
  const used = columns.filter((x) => rows.some((y) => inked(x, y)));
  const [left, right, top, bottom] = [used[0], used.at(-1), rows[0], rows.at(-1)];
  if (left === undefined || right === undefined || top === undefined || bottom === undefined) return [];
  const middle = Math.floor(dot / 2);
  const steps = (from: number, to: number): readonly number[] =>
    Array.from({ length: Math.ceil((to - from + 1) / dot) }, (_, step) => from + step * dot + middle);
  return steps(top, bottom).map((y) =>
    steps(left, right)
      .map((x) => (x < width && y < height && inked(x, y) ? '#' : '.'))
      .join(''),
  );
}

function columnsParted(rows: readonly string[]): readonly (readonly string[])[] {
  const width = rows[0]?.length ?? 0;
  const glyphs: (readonly string[])[] = [];
  let start = 0;
  for (let x = 0; x <= width; x += 1) {
    if (x < width && rows.some((row) => row[x] === '#')) continue;
    if (x > start) glyphs.push(rows.map((row) => row.slice(start, x)));
    start = x + 1;
  }
  return glyphs;
}

/** Without empty rows above and below, and empty columns on either side. */
function trimmed(rows: readonly string[]): readonly string[] {
  const used = rows.map((row) => row.includes('#'));
  const kept = rows.slice(used.indexOf(true), used.lastIndexOf(true) + 1);
  const left = Math.min(...kept.map((row) => (row.includes('#') ? row.indexOf('#') : Infinity)));
  const right = Math.max(...kept.map((row) => row.lastIndexOf('#')));
  return kept.map((row) => row.slice(left, right + 1));
}
