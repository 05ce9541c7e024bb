import { promisify } from 'node:util';
import { crc32, deflate, inflate } from 'node:zlib';

/** Rows of 8-bit RGB from the top, without padding. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** Pictures with more pixels are refused by their header alone; 5120x2880 fits. */
export const MOST_PIXELS = 16 * 1024 * 1024;

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

interface Header {
  readonly width: number;
  readonly height: number;
  readonly colorType: number;
  readonly channels: number;
}

/**
 * Decodes a still PNG of 8 bits a channel without interlacing, as screenshots are. Null for anything else: broken, too
 * large by its header, or with more data than its header allows. Transparency is shown on white.
 */
export async function decodePng(bytes: Uint8Array): Promise<Pixels | null> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const header = headerOf(file);
  if (header === null) return null;
  const { palette, data } = chunksOf(file);
  const rowBytes = header.width * header.channels + 1;
  try {
    const raw = await promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate)(data, {
      maxOutputLength: rowBytes * header.height,
    });
    return raw.length === rowBytes * header.height ? pixelsOf(header, raw, palette) : null;
  } catch {
    return null;
  }
}

/** `<width>x<height>` in pixels as the header says. @throws RangeError when it is no PNG that `decodePng` reads. */
export function pictureSize(png: Uint8Array): string {
  const header = headerOf(Buffer.from(png.buffer, png.byteOffset, png.byteLength));
  if (header === null) throw unreadable(png);
  return `${String(header.width)}x${String(header.height)}`;
}

function unreadable(png: Uint8Array): RangeError {
  return new RangeError(`the ${png.length} bytes of the screenshot are no PNG of 8 bits a channel that can be read`);
}

/** Brighter than this a channel is no longer taken for black. */
const BLACK_LIMIT = 8;

/**
 * True for a screenshot on which nothing can be seen: of a screen that is off, locked or not there.
 * @throws RangeError when it is no PNG that `decodePng` reads.
 */
export async function isBlackPicture(png: Uint8Array): Promise<boolean> {
  const pixels = await decodePng(png);
  if (pixels === null) throw unreadable(png);
  return pixels.rgb.every((value) => value <= BLACK_LIMIT);
}

function headerOf(file: Buffer): Header | null {
  if (file.length < 33 || !file.subarray(0, 8).equals(SIGNATURE) || file.toString('latin1', 12, 16) !== 'IHDR') {
    return null;
  }
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const colorType = file.readUInt8(25);
  const channels = CHANNELS[colorType];
  const isPlain = file.readUInt8(24) === 8 && file.readUInt16BE(26) === 0 && file.readUInt8(28) === 0;
  if (!isPlain || channels === undefined || width === 0 || height === 0 || width * height > MOST_PIXELS) return null;
  return { width, height, colorType, channels };
}

function chunksOf(file: Buffer): { readonly palette: Buffer; readonly data: Buffer } {
  let palette: Buffer = Buffer.alloc(0);
  const data: Buffer[] = [];
  for (let at = 8; at + 12 <= file.length;) {
    const length = file.readUInt32BE(at);
    const kind = file.toString('latin1', at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + length);
    if (kind === 'IEND' || body.length < length) break;
    if (kind === 'PLTE') palette = body;
    if (kind === 'IDAT') data.push(body);
    at += 12 + length;
  }
  return { palette, data: Buffer.concat(data) };
}

/** Undoes the filter of each row in place, then reads colours. Null for a filter there is not. */
function pixelsOf(header: Header, raw: Buffer, palette: Buffer): Pixels | null {
  const { width, height, channels } = header;
  const rowBytes = width * channels;
  const rgb = new Uint8Array(width * height * 3);
  let above: Uint8Array = new Uint8Array(rowBytes);
  for (let y = 0; y < height; y += 1) {
    const from = y * (rowBytes + 1);
    const row = raw.subarray(from + 1, from + 1 + rowBytes);
    if (!unfilter(raw[from] ?? 255, row, above, channels)) return null;
    writeRow(rgb.subarray(y * width * 3, (y + 1) * width * 3), row, header, palette);
    above = row;
  }
  return { width, height, rgb };
}

function unfilter(filter: number, row: Uint8Array, above: Uint8Array, step: number): boolean {
  if (filter > 4) return false;
  if (filter === 0) return true;
  for (let at = 0; at < row.length; at += 1) {
    const left = at < step ? 0 : (row[at - step] ?? 0);
    const up = above[at] ?? 0;
    const corner = at < step ? 0 : (above[at - step] ?? 0);
    const predicted =
      filter === 1 ? left : filter === 2 ? up : filter === 3 ? (left + up) >> 1 : paeth(left, up, corner);
    row[at] = (row[at] ?? 0) + predicted;
  }
  return true;
}

function paeth(left: number, up: number, corner: number): number {
  const toLeft = Math.abs(up - corner);
  const toUp = Math.abs(left - corner);
  const toCorner = Math.abs(left + up - 2 * corner);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function writeRow(target: Uint8Array, row: Uint8Array, { colorType, channels }: Header, palette: Uint8Array): void {
  const hasAlpha = colorType >= 4;
  for (let from = 0, to = 0; from < row.length; from += channels, to += 3) {
    const alpha = hasAlpha ? (row[from + channels - 1] ?? 255) : 255;
    for (let each = 0; each < 3; each += 1) {
      const own = colorType === 3 ? palette[(row[from] ?? 0) * 3 + each] : row[channels < 3 ? from : from + each];
      target[to + each] = alpha === 255 ? (own ?? 0) : Math.round(((own ?? 0) * alpha + 255 * (255 - alpha)) / 255);
    }
  }
}

/** A truecolour PNG, small rather than fast to make. */
export async function encodePng({ width, height, rgb }: Pixels): Promise<Uint8Array> {
  const rowBytes = width * 3;
  const raw = Buffer.alloc((rowBytes + 1) * height);
  for (let y = 0; y < height; y += 1) {
    const to = y * (rowBytes + 1);
    raw[to] = y === 0 ? 0 : 2;
    for (let x = 0; x < rowBytes; x += 1) {
      const at = y * rowBytes + x;
      raw[to + 1 + x] = (rgb[at] ?? 0) - (y === 0 ? 0 : (rgb[at - rowBytes] ?? 0));
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const data = await promisify<Buffer, { level: number }, Buffer>(deflate)(raw, { level: 9 });
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(kind: string, body: Buffer): Buffer {
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length, 0);
  out.write(kind, 4, 'latin1');
  body.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + body.length)), 8 + body.length);
  return out;
}
