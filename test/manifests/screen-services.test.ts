import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodePng, findRegions, readBitmapText, type Raster } from '#sdk';
import { removeTemporaryFolders, TEST_SECRET } from '#test/builders/task-folder';
import { startTaskService, type RunningService } from '#test/builders/task-service';
import { codeOf } from '../../tasks/demo/hello/codes.ts';
import { FONT } from '../../tasks/demo/hello/font.ts';
import { ORDERS } from '../../tasks/demo/hello/layouts.ts';

interface Served {
  readonly status: number;
  /** Head and body as they came. */
  readonly text: string;
  readonly bytes: Uint8Array;
}

async function get(port: number, path: string, form?: Readonly<Record<string, string>>): Promise<Served> {
  const body = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, body);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const head = JSON.stringify([...answer.headers]);
  return { status: answer.status, text: `${head}\n${Buffer.from(bytes).toString('latin1')}`, bytes };
}

const pictureIn = (page: Served): string => /src="(\/picture\/[0-9a-f]{32})"/u.exec(page.text)?.[1] ?? 'no picture';

afterAll(removeTemporaryFolders);

describe.each(ORDERS)('the order desk of variant $variant', ({ orderNumber, layout }) => {
  let desk: RunningService;
  beforeAll(async () => {
    desk = await startTaskService('demo/hello', 'desk', { secret: TEST_SECRET, layout });
  });
  afterAll(() => desk.stop());

  const order = (number: string): Promise<Served> => get(desk.port, '/order', { number });

  const codeIn = async (page: Served): Promise<string> => {
    const { bytes } = await get(desk.port, pictureIn(page));
    const raster: Raster | null = await decodePng(bytes);
    if (raster === null) throw new Error('no PNG was served');
    const whole = { x: 0, y: 0, width: raster.width, height: raster.height };
    const reading = readBitmapText(raster, whole, { ink: layout.ink, dot: layout.dot, glyphs: FONT });
    return reading.ok ? reading.text : reading.reason;
  };

  it('shows the code of the typed number as pixels, and says it in no other way', async () => {
    const code = await codeOf(TEST_SECRET, orderNumber);
    expect(code).toMatch(/^[34679A-Z]{4}-[34679A-Z]{4}$/u);
    const page = await order(orderNumber);
    const picture = await get(desk.port, pictureIn(page));
    for (const { text } of [await get(desk.port, '/'), page, picture]) {
      for (const part of code.split('-')) expect(text.toUpperCase()).not.toContain(part);
    }
    expect(await codeIn(page)).toBe(code);
  });

  it('takes a number in small letters and with blanks, and gives each number another code', async () => {
    expect(await codeIn(await order(` ${orderNumber.toLowerCase()} `))).toBe(await codeOf(TEST_SECRET, orderNumber));
    expect(await codeIn(await order('AA-0000'))).not.toBe(await codeOf(TEST_SECRET, orderNumber));
  });

  it.each(['', 'QK4417', "<script>alert('x')</script>", 'x'.repeat(3000)])(
    'confirms nothing for %s',
    async (number) => {
      const page = await order(number);
      expect(page).toMatchObject({ status: 200, text: expect.stringContaining('That is no order number.') as string });
      expect(page.text).not.toContain('<img');
      if (number !== '') expect(page.text).not.toContain(number);
    },
  );

  it('has nothing else', async () => {
    const paths = ['/picture/', `/picture/${'0'.repeat(32)}`, '/../order', '/order', '/favicon.ico'];
    for (const path of paths) expect((await get(desk.port, path)).status, path).toBe(404);
    expect((await get(desk.port, '/order', { number: 'x'.repeat(5000) })).status).toBe(404);
  });

  it('closes after 50 confirmations', async () => {
    const statuses: number[] = [];
    for (let asked = 0; asked < 50; asked += 1) statuses.push((await order(orderNumber)).status);
    expect(statuses.filter((status) => status === 200).length).toBeLessThan(50);
    expect(statuses.at(-1)).toBe(429);
    expect(desk.errors()).toBe('');
  });
});

describe('the picture of seecheck', () => {
  it.each(['around', 'counts'])('%s is pixels, and the page does not say what it shows', async (question) => {
    const service = await startTaskService('demo/seecheck', 'picture', { secret: TEST_SECRET, question });
    try {
      const page = await get(service.port, '/');
      const picture = await get(service.port, pictureIn(page));
      const raster = await decodePng(picture.bytes);
      expect(raster).toMatchObject({ width: 840, height: 560 });
      const shapes = raster === null ? [] : findRegions(raster, { color: '#d50000', minWidth: 60 });
      expect(shapes.length).toBeGreaterThan(0);
      for (const word of ['red', 'blue', 'green', 'yellow', 'circle', 'square', 'triangle', 'cross']) {
        expect(page.text.toLowerCase()).not.toMatch(new RegExp(`\\b${word}\\b`, 'u'));
      }
      expect((await get(service.port, '/picture/0')).status).toBe(404);
    } finally {
      await service.stop();
    }
  });
});
