import { keyedBytes } from '../_shared/keyed-bytes.ts';

export const SHAPES = ['circle', 'square', 'triangle', 'cross'] as const;
export type Shape = (typeof SHAPES)[number];

/** `#rrggbb` by name; black is the mark's alone. */
export const COLORS = { red: '#d50000', blue: '#1565c0', green: '#2e9e3f', yellow: '#f9c80e' } as const;
export type Color = keyof typeof COLORS;

export const MARK = '#000000';
export const BAR = '#37474f';
export const PAPER = '#f4f4f4';
export const COLUMNS = 6;
export const ROWS = 4;

/** Null is an empty place, `mark` the black square. */
export type Cell = { readonly shape: Shape; readonly color: Color } | 'mark' | null;

/** `around` asks for what stands beside the mark; `counts` for how many there are of each kind. */
export type Question = 'around' | 'counts';

export const QUESTIONS: readonly Question[] = ['around', 'counts'];

/** One place in so many is left empty where things are counted. */
const EMPTY_ONE_IN = 5;

/** The picture of an attempt, row by row. */
export async function sceneOf(secret: string, question: Question): Promise<readonly Cell[]> {
  const draws: number[] = [];
  for (let block = 0; draws.length < COLUMNS * ROWS * 3 + 1; block += 1) {
    const bytes = await keyedBytes(secret, `demo/seecheck ${question} ${block}`);
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < bytes.byteLength; at += 4) draws.push(words.getUint32(at));
  }
  const draw = (sides: number): number => (draws.pop() ?? 0) % sides;
  const markAt = (1 + draw(ROWS - 2)) * COLUMNS + 1 + draw(COLUMNS - 2);
  const colors = Object.keys(COLORS) as Color[];
  return Array.from({ length: COLUMNS * ROWS }, (_, place): Cell => {
    const shape = SHAPES[draw(SHAPES.length)];
    const color = colors[draw(colors.length)];
    const isEmpty = draw(EMPTY_ONE_IN) === 0 && question === 'counts';
    if (question === 'around' && place === markAt) return 'mark';
    return isEmpty || shape === undefined || color === undefined ? null : { shape, color };
  });
}

/** What `answer.json` must hold. */
export function answerOf(scene: readonly Cell[], question: Question): Readonly<Record<string, string | number>> {
  if (question === 'counts') return countsOf(scene);
  const mark = scene.indexOf('mark');
  const places = { left: mark - 1, right: mark + 1, above: mark - COLUMNS, below: mark + COLUMNS };
  return Object.fromEntries(Object.entries(places).map(([side, place]) => [side, nameOf(scene[place] ?? null)]));
}

function nameOf(cell: Cell): string {
  return cell === null || cell === 'mark' ? 'nothing' : `${cell.color} ${cell.shape}`;
}

function countsOf(scene: readonly Cell[]): Readonly<Record<string, number>> {
  const named = [...Object.keys(COLORS), ...SHAPES];
  const names = scene.map(nameOf);
  return Object.fromEntries(named.map((word) => [word, names.filter((name) => name.split(' ').includes(word)).length]));
}
