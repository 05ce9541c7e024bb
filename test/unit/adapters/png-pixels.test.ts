import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePng, isBlackPicture } from '#adapters/png-pixels';
import { makePng } from '#test/fakes/cua-server-commands';
import { encodePng, type PngKind } from './png-encoder.ts';

const KINDS: readonly PngKind[] = ['grey', 'rgb', 'grey-alpha', 'rgba'];

/** What a pixel looks like on white. */
function onWhite([red = 0, green = 0, blue = 0, opacity = 255]: readonly number[]): number[] {
  return [red, green, blue].map((each) => Math.round((each * opacity + 255 * (255 - opacity)) / 255));
}

describe('decodePng', () => {
  it('undoes any mixture of filters on every kind of pixel', async () => {
    const picture = fc.record({
      kind: fc.constantFrom(...KINDS),
      width: fc.integer({ min: 1, max: 9 }),
      filters: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 6 }),
      seed: fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 50 }),
    });
    await fc.assert(
      fc.asyncProperty(picture, async (made) => {
        const { png, rgba } = encodePng(made);
        const pixels = await decodePng(png);
        expect([pixels?.width, pixels?.height]).toEqual([made.width, made.filters.length]);
        const shown = Array.from({ length: rgba.length / 4 }, (_, n) => onWhite(rgba.slice(n * 4, n * 4 + 4)));
        expect(Array.from(pixels?.rgb ?? [])).toEqual(shown.flat());
      }),
    );
  });
});

describe('isBlackPicture', () => {
  it('is true when nothing on it can be seen', async () => {
    expect(await isBlackPicture(makePng(10, 10, [0, 0, 0]))).toBe(true);
    expect(await isBlackPicture(makePng(10, 10, [3, 8, 2]))).toBe(true);
  });

  it('is false with a single bright channel anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(17), fc.integer({ min: 9, max: 255 }), async (at, value) => {
        const seed = Array.from({ length: 18 }, (_, n) => (n === at ? value : 0));
        expect(await isBlackPicture(encodePng({ kind: 'rgb', width: 3, filters: [0, 0], seed }).png)).toBe(false);
      }),
    );
  });

  it('refuses what is no screenshot, with its size', async () => {
    await expect(isBlackPicture(Buffer.from('no picture'))).rejects.toThrow(
      'the 10 bytes of the screenshot are no PNG',
    );
  });
});
