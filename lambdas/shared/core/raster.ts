/** Rows of 8-bit RGB from the top, without padding. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** In pixels from the top left. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Pixels of one colour that hang together by their sides, with the rectangle around them. */
export interface Region extends Rectangle {
  readonly pixels: number;
}

export interface RegionRules {
  /** `#rrggbb`. */
  readonly color: string;
  /** How far each channel may be off; default 8. */
  readonly tolerance?: number;
  readonly within?: Rectangle;
  readonly minWidth?: number;
  readonly minHeight?: number;
}

const DEFAULT_TOLERANCE = 8;

/** @throws TypeError for anything but `#rrggbb`. */
export function parseColor(text: string): readonly [number, number, number] {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/iu.exec(text) ?? [];
  if (red === undefined || green === undefined || blue === undefined) {
    throw new TypeError(`${JSON.stringify(text)} is no colour; write #rrggbb`);
  }
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}

/** One byte for each pixel of `within`: 1 where it has the colour. */
export function maskOf(raster: Raster, within: Rectangle, color: string, tolerance = DEFAULT_TOLERANCE): Uint8Array {
  const [red, green, blue] = parseColor(color);
  const { x: left, y: top, width, height } = within;
  const mask = new Uint8Array(width * height);
  const isNear = (at: number, wanted: number): boolean => Math.abs((raster.rgb[at] ?? 0) - wanted) <= tolerance;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = ((top + y) * raster.width + left + x) * 3;
      if (isNear(at, red) && isNear(at + 1, green) && isNear(at + 2, blue)) mask[y * width + x] = 1;
    }
  }
  return mask;
}

/** The part of a rectangle that lies in the picture. */
export function clip(raster: Raster, { x, y, width, height }: Rectangle): Rectangle {
  const left = Math.min(Math.max(0, x), raster.width);
  const top = Math.min(Math.max(0, y), raster.height);
  const right = Math.min(Math.max(left, x + width), raster.width);
  const bottom = Math.min(Math.max(top, y + height), raster.height);
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** Regions of a colour in order of their first pixel, row by row. */
export function findRegions(raster: Raster, rules: RegionRules): readonly Region[] {
  const within = clip(raster, rules.within ?? { x: 0, y: 0, width: raster.width, height: raster.height });
  const mask = maskOf(raster, within, rules.color, rules.tolerance);
  const regions: Region[] = [];
  for (let at = mask.indexOf(1); at >= 0; at = mask.indexOf(1, at)) {
    const region = takeRegion(mask, within.width, at);
    if (region.width < (rules.minWidth ?? 1) || region.height < (rules.minHeight ?? 1)) continue;
    regions.push({ ...region, x: region.x + within.x, y: region.y + within.y });
  }
  return regions;
}

/** Takes out of the mask all that hangs together with a pixel. */
function takeRegion(mask: Uint8Array, width: number, first: number): Region {
  let [left, right, top, bottom, pixels] = [width, 0, mask.length, 0, 0];
  const pending = [first];
  mask[first] = 0;
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const [x, y] = [at % width, Math.floor(at / width)];
    pixels += 1;
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    const sides = [x > 0 ? at - 1 : -1, x < width - 1 ? at + 1 : -1, at - width, at + width];
    for (const side of sides) {
      if (side < 0 || mask[side] !== 1) continue;
      mask[side] = 0;
      pending.push(side);
    }
  }
  return { x: left, y: top, width: right - left + 1, height: bottom - top + 1, pixels };
}

/** How much of each of so many bands, from the top, has the colour: the outline of a shape in a few numbers in [0,1]. */
export function bandShares(
  raster: Raster,
  region: Rectangle,
  rules: { readonly color: string; readonly bands: number; readonly tolerance?: number },
): readonly number[] {
  const within = clip(raster, region);
  const mask = maskOf(raster, within, rules.color, rules.tolerance);
  return Array.from({ length: rules.bands }, (_, band) => {
    const [from, to] = [band, band + 1].map((edge) => Math.round((edge * within.height) / rules.bands));
    const part = mask.subarray((from ?? 0) * within.width, (to ?? 0) * within.width);
    return part.length === 0 ? 0 : part.reduce((sum, each) => sum + each, 0) / part.length;
  });
}
