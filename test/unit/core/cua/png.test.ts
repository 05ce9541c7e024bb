import { deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePng, isBlackPicture } from '#adapters/cua-picture';
import { readPngPixels } from '#core/cua/png-pixels';
import { readPngSize } from '#core/cua/png-size';
import { makePng } from '#test/fakes/cua-server-commands';
import { encodePng, type PngKind } from './png-encoder.ts';

describe('a PNG', () => {
  it('says its size in its header', () => {
    expect(readPngSize(makePng(64, 48, [1, 2, 3]))).toEqual({ width: 64, height: 48 });
    // Bytes in the middle of a larger buffer, as base64 gives them.
    expect(readPngSize(Buffer.concat([Buffer.alloc(7), makePng(3, 5, [0, 0, 0])]).subarray(7))).toEqual({
      width: 3,
      height: 5,
    });
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['a JPEG', Buffer.from([0xff, 0xd8, 0xff, 0xe0, ...Array<number>(30).fill(0)])],
    ['a header cut off', makePng(2, 2, [0, 0, 0]).subarray(0, 20)],
    ['no width', Buffer.concat([makePng(2, 2, [0, 0, 0]).subarray(0, 16), Buffer.alloc(20)])],
  ])('%s is none', (_, bytes) => {
    expect(readPngSize(bytes)).toBeNull();
    expect(() => decodePng(bytes)).toThrow('no PNG');
  });

  it('is decoded with every filter and every kind of pixel', () => {
    const kinds: PngKind[] = ['grey', 'rgb', 'grey-alpha', 'rgba'];
    const picture = fc.record({
      kind: fc.constantFrom(...kinds),
      width: fc.integer({ min: 1, max: 9 }),
      filters: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 6 }),
      seed: fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 50 }),
    });
    fc.assert(
      fc.property(picture, (made) => {
        const { png, rgba } = encodePng(made);
        const pixels = decodePng(png);
        expect([pixels.width, pixels.height]).toEqual([made.width, made.filters.length]);
        expect([...pixels.rgba]).toEqual(rgba);
      }),
    );
  });

  it('is refused with the reason when it is cut off, interlaced or of another depth', () => {
    const png = makePng(4, 4, [9, 9, 9]);
    expect(() => decodePng(png.subarray(0, 50))).toThrow('cut off in its IDAT chunk');
    const deep = Buffer.from(png);
    deep[24] = 16;
    expect(() => decodePng(deep)).toThrow('bit depth 16');
    const wide = Buffer.from(png);
    wide.writeUInt32BE(4000, 16);
    expect(() => decodePng(wide)).toThrow('holds 52 bytes of rows');
  });

  it('is black when nothing on it can be seen', () => {
    expect(isBlackPicture(makePng(10, 10, [0, 0, 0]))).toBe(true);
    expect(isBlackPicture(makePng(10, 10, [3, 8, 2]))).toBe(true);
    expect(isBlackPicture(makePng(10, 10, [0, 0, 40]))).toBe(false);
    const { png } = encodePng({ kind: 'rgb', width: 3, filters: [0, 0], seed: [...Array<number>(17).fill(0), 200] });
    expect(isBlackPicture(png)).toBe(false);
  });

  it('of a palette takes its colours from there', () => {
    const row = deflateSync(Buffer.from([0, 1, 0]));
    const png = encodePng({ kind: 'palette', width: 2, filters: [0], seed: [0] }, row, [10, 20, 30, 40, 50, 60]).png;
    expect([...readPngPixels(png, (data) => inflateSync(data)).rgba]).toEqual([40, 50, 60, 255, 10, 20, 30, 255]);
  });
});
