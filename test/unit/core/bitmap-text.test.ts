import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBitmapText, type GlyphTable } from '#core/bitmap-text';
import type { Raster } from '#core/raster';

const GLYPHS: GlyphTable = {
  A: ['.#.', '#.#', '###', '#.#'],
  L: ['#..', '#..', '#..', '###'],
  T: ['###', '.#.', '.#.', '.#.'],
  '-': ['...', '###', '...', '...'],
  I: ['.#.', '.#.', '.#.', '.#.'],
};

/** The text in black on white, dots of so many pixels, away from the corner. */
function print(text: string, dot: number, [left, top]: readonly [number, number] = [3, 2]): Raster {
  const rows = Array.from({ length: 4 }, (_, y) => Array.from(text, (each) => GLYPHS[each]?.[y] ?? '').join('.'));
  const width = left + (rows[0]?.length ?? 0) * dot + 4;
  const height = top + 4 * dot + 5;
  const rgb = new Uint8Array(width * height * 3).fill(255);
  for (const [y, row] of rows.entries()) {
    for (const [x, cell] of Array.from(row).entries()) {
      if (cell !== '#') continue;
      for (let dy = 0; dy < dot; dy += 1) {
        const from = ((top + y * dot + dy) * width + left + x * dot) * 3;
        rgb.fill(0, from, from + dot * 3);
      }
    }
  }
  return { width, height, rgb };
}

const whole = ({ width, height }: Raster) => ({ x: 0, y: 0, width, height });

describe('a text in a bitmap font', () => {
  it('is read back whatever it says, where it stands and how large it is', () => {
    const text = fc
      .array(fc.constantFrom(...Object.keys(GLYPHS)), { minLength: 1, maxLength: 12 })
      .map((all) => all.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 7 }), fc.integer({ min: 0, max: 9 }), (said, dot, left) => {
        const raster = print(said, dot, [left, left]);
        const reading = readBitmapText(raster, whole(raster), { ink: '#000000', dot, glyphs: GLYPHS });
        expect(reading).toEqual({ ok: true, text: said });
      }),
    );
  });

  it('is not made up from a shape that is no character', () => {
    const raster = print('LAT', 3);
    const { L = [], T = [] } = GLYPHS;
    expect(readBitmapText(raster, whole(raster), { ink: '#000000', dot: 3, glyphs: { L, T } })).toEqual({
      ok: false,
      reason: 'after "L" comes a shape of no known character: .#./#.#/###/#.#',
    });
  });

  it('is none where there is no ink', () => {
    const raster = print('A', 2);
    expect(readBitmapText(raster, whole(raster), { ink: '#ff0000', dot: 2, glyphs: GLYPHS })).toMatchObject({
      ok: false,
      reason: 'no pixel there has the ink #ff0000',
    });
  });
});
