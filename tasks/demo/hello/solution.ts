/** Works the order desk by its pixels: finds field and button by their colours, types, and reads the picture dot by dot. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readBitmapText } from '#sdk';
import { clickOn, look, typeText, waitFor } from '../_shared/solution-screen.ts';
import { FONT } from './font.ts';
import { ORDERS } from './layouts.ts';

const READS = 50;
const READ_MILLISECONDS = 200;
const LENGTH = 9;

const variant = process.env['EXAMHALL_VARIANT'];
const order = ORDERS.find((each) => each.variant === variant);
const output = process.env['TASK_OUTPUT'];
if (order === undefined || output === undefined) throw new Error(`no order for variant ${String(variant)}`);
const { layout, orderNumber } = order;

/** The picture may still be coming in while it is looked at. */
async function readCode(): Promise<string> {
  const rules = { color: layout.paper, minWidth: 53 * layout.dot, minHeight: 7 * layout.dot };
  const below = { x: 0, y: 44 + layout.offset[1] + 100, width: 10_000, height: 10_000 };
  let reason = '';
  for (let read = 0; read < READS; read += 1) {
    const { region } = await waitFor({ ...rules, within: below });
    const reading = readBitmapText(await look(), region, { ink: layout.ink, dot: layout.dot, glyphs: FONT });
    if (reading.ok && reading.text.length === LENGTH) return reading.text;
    reason = reading.ok ? `only ${reading.text} is there` : reading.reason;
    await new Promise((resolve) => setTimeout(resolve, READ_MILLISECONDS));
  }
  throw new Error(`the code cannot be read: ${reason}`);
}

await clickOn({ color: layout.field, minWidth: 200, minHeight: 40 });
await typeText(orderNumber);
await clickOn({ color: layout.button, minWidth: 150, minHeight: 40 });
const code = await readCode();
await mkdir(output, { recursive: true });
await writeFile(path.join(output, 'code.txt'), `${code}\n`);
