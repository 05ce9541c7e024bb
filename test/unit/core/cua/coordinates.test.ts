import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toNormalized, toPixels } from '#core/cua/coordinates';

const size = { width: 1280, height: 800 };
const sizes = fc.record({ width: fc.integer({ min: 1, max: 8000 }), height: fc.integer({ min: 1, max: 8000 }) });

describe('coordinates', () => {
  it('1000 is the far edge, and the last pixel is meant', () => {
    expect(toPixels({ x: 0, y: 0 }, 'normalized', size)).toEqual({ x: 0, y: 0 });
    expect(toPixels({ x: 500, y: 500 }, 'normalized', size)).toEqual({ x: 640, y: 400 });
    expect(toPixels({ x: 1000, y: 1000 }, 'normalized', size)).toEqual({ x: 1279, y: 799 });
    expect(toPixels({ x: 1280, y: 12.6 }, 'pixel', size)).toEqual({ x: 1279, y: 13 });
  });

  it.each([
    [{ x: -1, y: 0 }, 'normalized', 'x is -1; allowed: 0 to 1000'],
    [{ x: 0, y: 1000.5 }, 'normalized', 'y is 1000.5; allowed: 0 to 1000'],
    [{ x: Number.NaN, y: 0 }, 'pixel', 'x is NaN; allowed: 0 to 1280'],
    [{ x: 0, y: 801 }, 'pixel', 'y is 801; allowed: 0 to 800'],
  ] as const)('%j (%s) is refused', (point, space, message) => {
    expect(() => toPixels(point, space, size)).toThrow(message);
  });

  it('every pixel leads to 0..1000 and back to itself', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat(), (screen, a, b) => {
        const pixel = { x: a % screen.width, y: b % screen.height };
        const normalized = toNormalized(pixel, screen);
        expect(normalized.x).toBeGreaterThanOrEqual(0);
        expect(normalized.x).toBeLessThanOrEqual(1000);
        expect(toPixels(normalized, 'normalized', screen)).toEqual(pixel);
      }),
    );
  });

  it('every point of 0..1000 lies on the screen, and further right is never further left', () => {
    const axis = fc.double({ min: 0, max: 1000, noNaN: true });
    fc.assert(
      fc.property(sizes, axis, axis, (screen, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const one = toPixels({ x: low, y: low }, 'normalized', screen);
        const other = toPixels({ x: high, y: high }, 'normalized', screen);
        expect(other.x).toBeLessThan(screen.width);
        expect(one.x).toBeLessThanOrEqual(other.x);
        expect(one.y).toBeLessThanOrEqual(other.y);
      }),
    );
  });
});
