/** Shows one picture, drawn from the attempt's secret; nothing but its pixels says what is in it. */
import { randomBytes } from 'node:crypto';
import { encodePng } from '#sdk';
import { Canvas } from '../../_shared/canvas.ts';
import { htmlPage, readInput, servePage } from '../../_shared/services/page-server.ts';
import { BAR, COLORS, COLUMNS, MARK, PAPER, ROWS, sceneOf, type Question, type Shape } from '../scenes.ts';

const CELL = 140;
const SIZE = 90;
const ARM = 1 / 3;

/** Whether a point of the unit square belongs to a shape. */
const OUTLINES: Readonly<Record<Shape, (across: number, down: number) => boolean>> = {
  circle: (across, down) => Math.hypot(across - 0.5, down - 0.5) <= 0.5,
  square: () => true,
  triangle: (across, down) => Math.abs(across - 0.5) <= down / 2,
  cross: (across, down) => Math.abs(across - 0.5) <= ARM / 2 || Math.abs(down - 0.5) <= ARM / 2,
};

const { secret, question } = await readInput<{ readonly secret: string; readonly question: Question }>();

async function drawScene(): Promise<Canvas> {
  const canvas = new Canvas(COLUMNS * CELL, ROWS * CELL, PAPER);
  for (const [place, cell] of (await sceneOf(secret, question)).entries()) {
    if (cell === null) continue;
    const inset = (CELL - SIZE) / 2;
    const [column, row] = [place % COLUMNS, Math.floor(place / COLUMNS)];
    const box = { x: column * CELL + inset, y: row * CELL + inset, width: SIZE, height: SIZE };
    if (cell === 'mark') canvas.paint(box, MARK, OUTLINES.square);
    else canvas.paint(box, COLORS[cell.color], OUTLINES[cell.shape]);
  }
  return canvas;
}

const picture = await drawScene();
const png = await encodePng(picture);
const path = `/picture/${randomBytes(16).toString('hex')}`;
const style = `.bar{background:${BAR}}body{background:#fff}img{display:block;margin:24px;image-rendering:pixelated}`;
const image = `<img src="${path}" width="${picture.width}" height="${picture.height}" alt="">`;
const page = htmlPage({ title: 'Picture', style, body: image });

servePage((method, asked) => {
  if (method !== 'GET') return null;
  if (asked === '/') return page;
  return asked === path ? { type: 'image/png', body: png } : null;
});
