import { inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePng, encodePng, MOST_PIXELS } from '#adapters/png-pixels';
import { createPngThumbnailer } from '#adapters/png-thumbnailer';
import { plainPng, png } from '#test/builders/pictures';

const BOX = { width: 240, height: 180 };
const thumbnailer = createPngThumbnailer();

describe('decodePng', () => {
  it.each([0, 1, 2, 3, 4] as const)('undoes row filter %i', async (filter) => {
    const pixels = await decodePng(png({ filter, width: 9, height: 7 }));
    const expected = Array.from({ length: 63 }, (_, n) => [
      (n % 9) * 20,
      Math.floor(n / 9) * 30,
      (n % 9) * Math.floor(n / 9),
    ]);
    expect(pixels).toEqual({ width: 9, height: 7, rgb: Uint8Array.from(expected.flat()) });
  });

  it.each([
    ['grey', png({ colorType: 0, width: 1, height: 1, pixel: () => [7] }), [7, 7, 7]],
    ['a palette', png({ colorType: 3, width: 1, height: 1, pixel: () => [1], palette: [0, 0, 0, 1, 2, 3] }), [1, 2, 3]],
    ['grey with alpha', png({ colorType: 4, width: 1, height: 1, pixel: () => [0, 51] }), [204, 204, 204]],
    ['colour with alpha', png({ colorType: 6, width: 1, height: 1, pixel: () => [10, 20, 30, 255] }), [10, 20, 30]],
    ['a palette without the colour', png({ colorType: 3, width: 1, height: 1, pixel: () => [9] }), [0, 0, 0]],
  ])('reads %s', async (_, file, rgb) => {
    expect(await decodePng(file)).toEqual({ width: 1, height: 1, rgb: Uint8Array.from(rgb) });
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['another file', Buffer.from('<svg onload="alert(1)"/>'.repeat(9))],
    ['a signature alone', png().subarray(0, 8)],
    ['a file that was cut off', png({ width: 64, height: 64 }).subarray(0, 60)],
    ['rows that are too short', png({ rows: Buffer.alloc(5) })],
    ['a row filter there is not', png({ rows: Buffer.alloc((8 * 3 + 1) * 6, 9) })],
    ['16 bits a channel', png({ header: { bitDepth: 16 } })],
    ['interlacing', png({ header: { interlace: 1 } })],
    ['no width', png({ header: { width: 0 } })],
    ['a garbled stream', corrupted(png({ width: 32, height: 32 }))],
  ])('is null for %s', async (_, file) => {
    expect(await decodePng(file)).toBeNull();
  });

  it('refuses a picture with too many pixels before it unpacks anything', async () => {
    const bomb = png({ header: { width: MOST_PIXELS, height: 2 }, rows: Buffer.alloc(64 * 1024 * 1024) });
    expect(bomb.length).toBeLessThan(1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    expect(await decodePng(bomb)).toBeNull();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });

  it('stops unpacking where the header says that there is no more', async () => {
    const bomb = png({ width: 2, height: 2, rows: Buffer.alloc(256 * 1024 * 1024) });
    const before = process.memoryUsage().arrayBuffers;
    expect(await decodePng(bomb)).toBeNull();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('never throws, whatever byte is wrong', async () => {
    const good = png({ width: 5, height: 5, filter: 4 });
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), async (at, byte) => {
        const file = Buffer.from(good);
        file[at] = byte;
        await decodePng(file);
      }),
    );
  });
});

describe('encodePng', () => {
  it('writes what decodes to the same pixels', async () => {
    const size = fc.integer({ min: 1, max: 12 });
    await fc.assert(
      fc.asyncProperty(size, size, fc.nat(), async (width, height, seed) => {
        const rgb = Uint8Array.from({ length: width * height * 3 }, (_, n) => (n * 37 + seed) % 256);
        expect(await decodePng(await encodePng({ width, height, rgb }))).toEqual({ width, height, rgb });
      }),
    );
  });
});

describe('createPngThumbnailer', () => {
  it('fits the box and keeps the shape and the colour', async () => {
    const small = await thumbnailer.shrink(plainPng(1280, 800, [200, 100, 50]), BOX);
    expect(small).toMatchObject({ width: 240, height: 150 });
    const pixels = await decodePng(small?.png ?? Buffer.alloc(0));
    expect([...new Set(pixels?.rgb)].sort((a, b) => b - a)).toEqual([200, 100, 50]);
  });

  it('averages what a pixel stands for', async () => {
    const board = png({ width: 4, height: 4, colorType: 0, pixel: (x, y) => [(x + y) % 2 === 0 ? 0 : 255] });
    const small = await thumbnailer.shrink(board, { width: 2, height: 2 });
    expect((await decodePng(small?.png ?? Buffer.alloc(0)))?.rgb).toEqual(new Uint8Array(12).fill(128));
  });

  it('leaves a small picture at its size, and a thin one at least a pixel', async () => {
    expect(await thumbnailer.shrink(plainPng(3, 2, [1, 2, 3]), BOX)).toMatchObject({ width: 3, height: 2 });
    expect(await thumbnailer.shrink(plainPng(2000, 1, [1, 2, 3]), BOX)).toMatchObject({ width: 240, height: 1 });
  });

  it('keeps nothing of the file but its pixels', async () => {
    const small = await thumbnailer.shrink(Buffer.concat([png(), Buffer.from('<script>')]), BOX);
    expect(Buffer.from(small?.png ?? []).toString('latin1')).not.toContain('script');
  });
});

function corrupted(file: Buffer): Buffer {
  const at = file.indexOf('IDAT') + 4;
  expect(() => inflateSync(file.subarray(at))).not.toThrow();
  return Buffer.concat([file.subarray(0, at + 4), Buffer.alloc(40, 0xff), file.subarray(at + 44)]);
}
