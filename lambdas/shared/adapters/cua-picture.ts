import { inflateSync } from 'node:zlib';
import { isBlack, readPngPixels, type Pixels } from '#core/cua/png-pixels';

/** A picture no screen is larger than; a small file may claim any size. */
const LIMIT_BYTES = 512 * 1024 * 1024;

/** The pixels of a screenshot. @throws RangeError when it is no PNG of 8 bits a channel. */
export function decodePng(png: Uint8Array): Pixels {
  return readPngPixels(png, (data) => inflateSync(data, { maxOutputLength: LIMIT_BYTES }));
}

/** True for a screenshot on which nothing can be seen. */
export function isBlackPicture(png: Uint8Array): boolean {
  return isBlack(decodePng(png));
}
