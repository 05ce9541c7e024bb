import { readPngSize } from './png-size.ts';

/** A picture as red, green, blue and opacity, one byte each, row by row from the top. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;
}

/** Channels of the colour types that screenshots use: grey, RGB, palette, grey with opacity, RGBA. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const FIRST_CHUNK = 8;

interface PngParts {
  readonly colourType: number;
  readonly palette: Uint8Array;
  readonly data: Uint8Array;
}

/**
 * The pixels of a PNG of 8 bits a channel that is not interlaced; `inflate` undoes zlib.
 * @throws RangeError naming what the bytes are instead.
 */
export function readPngPixels(png: Uint8Array, inflate: (data: Uint8Array) => Uint8Array): Pixels {
  const size = readPngSize(png);
  if (size === null) throw new RangeError('the bytes are no PNG');
  const { colourType, palette, data } = readParts(png);
  const channels = CHANNELS[colourType] ?? 0;
  const rows = undoFilters(inflate(data), size.width * channels, size.height, channels);
  return { ...size, rgba: colourType === 3 ? fromPalette(rows, palette) : fromChannels(rows, colourType, channels) };
}

/** Which channel of a pixel gives red, green, blue and opacity; -1 is full. */
const SOURCES: Readonly<Record<number, readonly [number, number, number, number]>> = {
  0: [0, 0, 0, -1],
  2: [0, 1, 2, -1],
  4: [0, 0, 0, 1],
  6: [0, 1, 2, 3],
};

function fromChannels(rows: Uint8Array, colourType: number, channels: number): Uint8Array {
  const [red, green, blue, opacity] = SOURCES[colourType] ?? [0, 0, 0, -1];
  const rgba = new Uint8Array((rows.length / channels) * 4);
  for (let from = 0, to = 0; from < rows.length; from += channels, to += 4) {
    rgba[to] = rows[from + red] ?? 0;
    rgba[to + 1] = rows[from + green] ?? 0;
    rgba[to + 2] = rows[from + blue] ?? 0;
    rgba[to + 3] = opacity < 0 ? 255 : (rows[from + opacity] ?? 0);
  }
  return rgba;
}

function fromPalette(rows: Uint8Array, palette: Uint8Array): Uint8Array {
  const rgba = new Uint8Array(rows.length * 4);
  for (let pixel = 0; pixel < rows.length; pixel += 1) {
    const entry = (rows[pixel] ?? 0) * 3;
    rgba.set(palette.subarray(entry, entry + 3), pixel * 4);
    rgba[pixel * 4 + 3] = 255;
  }
  return rgba;
}

function readParts(png: Uint8Array): PngParts {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const [bitDepth = 0, colourType = 0, , , interlace = 0] = png.subarray(24, 29);
  if (bitDepth !== 8 || interlace !== 0 || CHANNELS[colourType] === undefined) {
    throw new RangeError(
      `the PNG has bit depth ${bitDepth}, colour type ${colourType}, interlace ${interlace}; allowed: 8, one of ${Object.keys(CHANNELS).join(', ')}, 0`,
    );
  }
  const data: Uint8Array[] = [];
  let palette = new Uint8Array();
  for (let at = FIRST_CHUNK; at + 12 <= png.length;) {
    const length = view.getUint32(at);
    const kind = String.fromCharCode(...png.subarray(at + 4, at + 8));
    const content = png.subarray(at + 8, at + 8 + length);
    if (content.length < length) throw new RangeError(`the PNG is cut off in its ${kind} chunk`);
    if (kind === 'IDAT') data.push(content);
    if (kind === 'PLTE') palette = content.slice();
    at += 12 + length;
  }
  return { colourType, palette, data: join(data) };
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Each row of a PNG says by which neighbours its bytes were reduced. */
function undoFilters(data: Uint8Array, rowBytes: number, height: number, channels: number): Uint8Array {
  if (data.length < (rowBytes + 1) * height) {
    throw new RangeError(`the PNG holds ${data.length} bytes of rows, not ${(rowBytes + 1) * height}`);
  }
  const rows = new Uint8Array(rowBytes * height);
  for (let row = 0; row < height; row += 1) {
    const filter = data[row * (rowBytes + 1)] ?? 0;
    const start = row * rowBytes;
    for (let column = 0; column < rowBytes; column += 1) {
      const left = column >= channels ? (rows[start + column - channels] ?? 0) : 0;
      const up = row > 0 ? (rows[start + column - rowBytes] ?? 0) : 0;
      const corner = row > 0 && column >= channels ? (rows[start + column - rowBytes - channels] ?? 0) : 0;
      const reduced = data[row * (rowBytes + 1) + 1 + column] ?? 0;
      rows[start + column] = reduced + predicted(filter, left, up, corner);
    }
  }
  return rows;
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** Brighter than this a pixel is no longer taken for black. */
const BLACK_LIMIT = 8;

/** True when no pixel is bright: the picture of a screen that is off, locked or not there. */
export function isBlack({ rgba }: Pixels): boolean {
  return rgba.every((value, at) => at % 4 === 3 || value <= BLACK_LIMIT);
}
