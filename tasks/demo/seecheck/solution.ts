/** Reads the picture by its pixels: regions of each colour, told apart by how wide they are from top to bottom. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bandShares, findRegions, type Raster, type Region } from '#sdk';
import { waitFor } from '../_shared/solution-screen.ts';
import { COLORS, MARK, PAPER, SHAPES, type Color, type Shape } from './scenes.ts';

interface Seen {
  readonly color: Color | 'black';
  readonly shape: Shape;
  readonly x: number;
  readonly y: number;
}

const MIN_SIZE = 60;

/** Full from edge to edge is a square, ever wider a triangle, narrow but for its middle a cross. */
function shapeOf(screen: Raster, region: Region, color: string): Shape {
  const [top = 0, middle = 0, bottom = 0] = bandShares(screen, region, { color, bands: 3 });
  if (Math.min(top, middle, bottom) > 0.97) return 'square';
  if (top < 0.25) return 'triangle';
  return top < 0.5 ? 'cross' : 'circle';
}

function allOf(screen: Raster, name: Color | 'black', color: string): readonly Seen[] {
  return findRegions(screen, { color, minWidth: MIN_SIZE, minHeight: MIN_SIZE }).map((region) => ({
    color: name,
    shape: shapeOf(screen, region, color),
    x: region.x + region.width / 2,
    y: region.y + region.height / 2,
  }));
}

function nearest(seen: readonly Seen[], from: Seen, [across, down]: readonly [number, number]): string {
  const ahead = seen
    .map((each) => ({ each, along: (each.x - from.x) * across + (each.y - from.y) * down }))
    .filter(({ each, along }) => along > 0 && Math.hypot(each.x - from.x, each.y - from.y) < along * 1.1)
    .sort((one, other) => one.along - other.along);
  const found = ahead[0]?.each;
  return found === undefined ? 'nothing' : `${found.color} ${found.shape}`;
}

function around(seen: readonly Seen[], mark: Seen): Readonly<Record<string, string>> {
  return {
    left: nearest(seen, mark, [-1, 0]),
    right: nearest(seen, mark, [1, 0]),
    above: nearest(seen, mark, [0, -1]),
    below: nearest(seen, mark, [0, 1]),
  };
}

function counts(seen: readonly Seen[]): Readonly<Record<string, number>> {
  const words = seen.flatMap(({ color, shape }) => [color, shape]);
  const names = [...Object.keys(COLORS), ...SHAPES];
  return Object.fromEntries(names.map((name) => [name, words.filter((word) => word === name).length]));
}

const output = process.env['TASK_OUTPUT'];
if (output === undefined) throw new Error('TASK_OUTPUT is not set');
const { screen } = await waitFor({ color: PAPER, minWidth: 800, minHeight: 550 });
const seen = (Object.entries(COLORS) as [Color, string][]).flatMap(([name, color]) => allOf(screen, name, color));
const [mark] = allOf(screen, 'black', MARK);
const answer = process.env['EXAMHALL_VARIANT'] === 'counts' || mark === undefined ? counts(seen) : around(seen, mark);
await mkdir(output, { recursive: true });
await writeFile(path.join(output, 'answer.json'), `${JSON.stringify(answer)}\n`);
