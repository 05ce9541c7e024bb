import { inflateSync } from 'node:zlib';

/** Bytes of a pixel by PNG's colour type, for the two kinds a screenshot has. */
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 };

/**
 * True for a PNG in which no pixel has any colour: a screen that nobody draws on. Black rows stay black under each of
 * PNG's filters, so nothing has to be unfiltered.
 * @throws RangeError for a picture of another kind than screenshots are.
 */
export function isBlackPng(png: Uint8Array): boolean {
  const bytes = Buffer.from(png);
  const width = bytes.readUInt32BE(16);
  const [depth, colourType] = [bytes[24], bytes[25] ?? -1];
  const channels = CHANNELS[colourType];
  if (depth !== 8 || channels === undefined)
    throw new RangeError(
      `a screenshot has 8 bits a channel and colour type 2 or 6, this has ${depth} and ${colourType}`,
    );
  const pixels = inflateSync(Buffer.concat(chunksOf(bytes, 'IDAT')));
  const rowBytes = 1 + width * channels;
  return pixels.every((value, index) => {
    const column = index % rowBytes;
    const isAlpha = channels === 4 && column % 4 === 0;
    return value === 0 || column === 0 || isAlpha;
  });
}

function chunksOf(png: Buffer, wanted: string): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 8; at + 8 <= png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === wanted) found.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return found;
}
