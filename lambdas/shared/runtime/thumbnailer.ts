import { createPngThumbnailer } from '#adapters/png-thumbnailer';
import type { Thumbnailer } from '#ports/thumbnailer';

/** What every host makes pictures small with. */
export function composeThumbnailer(): Thumbnailer {
  return createPngThumbnailer();
}
