export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface ScreenSize {
  readonly width: number;
  readonly height: number;
}

/** `normalized` runs from 0 to 1000 along each axis, `pixel` counts from the upper left corner. */
export type CoordinateSpace = 'normalized' | 'pixel';

const FULL_SCALE = 1000;
const SHOWN_DECIMALS = 1000;

function axisToPixel(axis: 'x' | 'y', value: number, space: CoordinateSpace, length: number): number {
  const limit = space === 'normalized' ? FULL_SCALE : length;
  if (!Number.isFinite(value) || value < 0 || value > limit) {
    throw new RangeError(`${axis} is ${value}; allowed: 0 to ${limit} (${space} coordinates)`);
  }
  const pixel = space === 'normalized' ? (value * length) / FULL_SCALE : value;
  // The far edge itself lies just outside; the last pixel is meant.
  return Math.min(Math.round(pixel), length - 1);
}

/** The pixel a point means on a screen of this size. @throws RangeError when it lies outside. */
export function toPixels(point: Point, space: CoordinateSpace, size: ScreenSize): Point {
  return {
    x: axisToPixel('x', point.x, space, size.width),
    y: axisToPixel('y', point.y, space, size.height),
  };
}

/** The 0..1000 coordinates of a pixel, to a thousandth; `toPixels` leads back to the same pixel. */
export function toNormalized(point: Point, size: ScreenSize): Point {
  const scale = (value: number, length: number): number =>
    Math.round((value * FULL_SCALE * SHOWN_DECIMALS) / length) / SHOWN_DECIMALS;
  return { x: scale(point.x, size.width), y: scale(point.y, size.height) };
}
