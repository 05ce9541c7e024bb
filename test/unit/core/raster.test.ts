import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bandShares, clip, findRegions, parseColor, type Raster } from '#core/raster';

/** A picture of characters: `.` white, `#` black, `r` nearly red. */
function picture(...rows: readonly string[]): Raster {
  const colors: Readonly<Record<string, readonly number[]>> = { '.': [255, 255, 255], '#': [0, 0, 0], r: [250, 5, 3] };
  const rgb = Uint8Array.from(rows.flatMap((row) => Array.from(row).flatMap((each) => colors[each] ?? [])));
  return { width: rows[0]?.length ?? 0, height: rows.length, rgb };
}

describe('regions of a colour', () => {
  const raster = picture('##..#', '#...#', '..#..', '..rr.');

  it('hang together by their sides, in order of their first pixel', () => {
    expect(findRegions(raster, { color: '#000000' })).toEqual([
      { x: 0, y: 0, width: 2, height: 2, pixels: 3 },
      { x: 4, y: 0, width: 1, height: 2, pixels: 2 },
      { x: 2, y: 2, width: 1, height: 1, pixels: 1 },
    ]);
  });

  it('may be a little off in colour, and no more', () => {
    expect(findRegions(raster, { color: '#ff0000' })).toHaveLength(1);
    expect(findRegions(raster, { color: '#ff0000', tolerance: 4 })).toEqual([]);
  });

  it('are looked for where they are asked for, and only of the size asked for', () => {
    const within = { x: 1, y: 0, width: 9, height: 9 };
    expect(findRegions(raster, { color: '#000000', within, minHeight: 2 })).toEqual([
      { x: 4, y: 0, width: 1, height: 2, pixels: 2 },
    ]);
    expect(findRegions(raster, { color: '#000000', minWidth: 2 })).toHaveLength(1);
    expect(findRegions(raster, { color: '#000000', within: { x: 40, y: 0, width: 9, height: 9 } })).toEqual([]);
  });

  it('have every pixel of the colour once, whatever the picture', () => {
    const rows = fc.array(fc.array(fc.constantFrom('.', '#'), { minLength: 7, maxLength: 7 }), { minLength: 1 });
    fc.assert(
      fc.property(rows, (cells) => {
        const found = findRegions(picture(...cells.map((row) => row.join(''))), { color: '#000000' });
        const inked = cells.flat().filter((cell) => cell === '#').length;
        expect(found.reduce((sum, region) => sum + region.pixels, 0)).toBe(inked);
        for (const { width, height, pixels } of found) expect(pixels).toBeLessThanOrEqual(width * height);
      }),
    );
  });
});

it('a rectangle is cut to the picture', () => {
  const raster = picture('...', '...');
  expect(clip(raster, { x: -1, y: 1, width: 9, height: 9 })).toEqual({ x: 0, y: 1, width: 3, height: 1 });
  expect(clip(raster, { x: 5, y: 5, width: 2, height: 2 })).toEqual({ x: 3, y: 2, width: 0, height: 0 });
});

it('an outline is told by the share of each band', () => {
  const raster = picture('..#..', '.###.', '#####', '.....');
  const region = { x: 0, y: 0, width: 5, height: 3 };
  expect(bandShares(raster, region, { color: '#000000', bands: 3 })).toEqual([0.2, 0.6, 1]);
  expect(bandShares(raster, { ...region, x: 9 }, { color: '#000000', bands: 2 })).toEqual([0, 0]);
});

it.each(['red', '#fff', '#12345g'])('%s is no colour', (text) => {
  expect(() => parseColor(text)).toThrow(/write #rrggbb/u);
});
