/** The order desk: a page that confirms an order number with a code, which it sends as a picture and in no other way. */
import { randomBytes } from 'node:crypto';
import { encodePng } from '#sdk';
import { Canvas } from '../../_shared/canvas.ts';
import { htmlPage, readInput, servePage, type Answer } from '../../_shared/services/page-server.ts';
import { codeOf, ORDER_NUMBER } from '../codes.ts';
import { FONT } from '../font.ts';
import type { Layout } from '../layouts.ts';

/** Confirmations one attempt may ask for; pictures are there this long. */
const MAX_CODES = 50;
const PICTURE_MILLISECONDS = 120_000;

const { secret, layout } = await readInput<{ readonly secret: string; readonly layout: Layout }>();
const pictures = new Map<string, Uint8Array>();
let codes = 0;

function drawCode(code: string): Canvas {
  const { dot, paper, ink } = layout;
  const margin = dot * 3;
  const canvas = new Canvas(margin * 2 + (code.length * 6 - 1) * dot, margin * 2 + 7 * dot, paper);
  for (const [at, character] of Array.from(code).entries()) {
    for (const [row, dots] of (FONT[character] ?? []).entries()) {
      for (const [column, cell] of Array.from(dots).entries()) {
        if (cell !== '#') continue;
        const place = { x: margin + (at * 6 + column) * dot, y: margin + row * dot, width: dot, height: dot };
        canvas.paint(place, ink, () => true);
      }
    }
  }
  return canvas;
}

const [left, top] = layout.offset;
const STYLE = [
  `body{background:${layout.page};color:${layout.text}}.bar{background:${layout.bar}}`,
  `main{position:absolute;left:${left}px;top:${44 + top}px}`,
  `form{display:flex;flex-direction:${layout.direction};gap:24px;align-items:flex-start;margin:16px 0 40px}`,
  `input{width:260px;height:36px;border:6px solid ${layout.field};font:24px monospace;outline:none;background:#fff;color:#000}`,
  `button{height:48px;width:200px;border:0;outline:none;background:${layout.button};color:#fff;font:20px sans-serif}`,
  'img{display:block;image-rendering:pixelated}',
].join('');

function desk(below: string, status = 200): Answer {
  const form =
    '<form method="post" action="/order" autocomplete="off"><input name="number" autofocus><button>Confirm</button></form>';
  const page = htmlPage({ title: 'Order desk', style: STYLE, body: `<main>Order number${form}${below}</main>` });
  return { ...page, status };
}

async function confirm(orderNumber: string): Promise<Answer> {
  if (!ORDER_NUMBER.test(orderNumber)) return desk('That is no order number.');
  if (codes >= MAX_CODES) return desk('This desk is closed: too many confirmations.', 429);
  codes += 1;
  const picture = drawCode(await codeOf(secret, orderNumber));
  const id = randomBytes(16).toString('hex');
  pictures.set(id, await encodePng(picture));
  setTimeout(() => pictures.delete(id), PICTURE_MILLISECONDS).unref();
  return desk(`<img src="/picture/${id}" width="${picture.width}" height="${picture.height}" alt="">`);
}

servePage(async (method, path, form) => {
  if (method === 'GET' && path === '/') return desk('');
  if (method === 'POST' && path === '/order') return confirm((form.get('number') ?? '').trim().toUpperCase());
  const picture = pictures.get(/^\/picture\/([0-9a-f]{32})$/u.exec(path)?.[1] ?? '');
  return picture === undefined ? null : { type: 'image/png', body: picture };
});
