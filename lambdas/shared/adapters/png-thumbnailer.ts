import type { Thumbnailer } from '#ports/thumbnailer';
import { decodePng, encodePng, type Pixels } from './png-pixels.ts';

/** Small PNGs of PNGs, in this process. */
export function createPngThumbnailer(): Thumbnailer {
  return {
    shrink: async (picture, box) => {
      const pixels = await decodePng(picture);
      if (pixels === null) return null;
      const scale = Math.min(1, box.width / pixels.width, box.height / pixels.height);
      const width = Math.max(1, Math.round(pixels.width * scale));
      const height = Math.max(1, Math.round(pixels.height * scale));
      return { width, height, png: await encodePng(averaged(pixels, width, height)) };
    },
  };
}

/** Each pixel is the mean of those it stands for. */
function averaged(from: Pixels, width: number, height: number): Pixels {
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    const top = Math.floor((y * from.height) / height);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * from.height) / height));
    for (let x = 0; x < width; x += 1) {
      const left = Math.floor((x * from.width) / width);
      const right = Math.max(left + 1, Math.floor(((x + 1) * from.width) / width));
      writeMean(rgb.subarray((y * width + x) * 3), from, { top, bottom, left, right });
    }
  }
  return { width, height, rgb };
}

interface Area {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

function writeMean(target: Uint8Array, { width, rgb }: Pixels, { top, bottom, left, right }: Area): void {
  let [red, green, blue] = [0, 0, 0];
  for (let y = top; y < bottom; y += 1) {
    for (let at = (y * width + left) * 3; at < (y * width + right) * 3; at += 3) {
      red += rgb[at] ?? 0;
      green += rgb[at + 1] ?? 0;
      blue += rgb[at + 2] ?? 0;
    }
  }
  const count = (bottom - top) * (right - left);
  target[0] = Math.round(red / count);
  target[1] = Math.round(green / count);
  target[2] = Math.round(blue / count);
}
