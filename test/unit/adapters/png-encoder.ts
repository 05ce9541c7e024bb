import { deflateSync } from 'node:zlib';

export type PngKind = 'grey' | 'rgb' | 'grey-alpha' | 'rgba' | 'palette';

const TYPES: Readonly<Record<PngKind, { type: number; channels: number }>> = {
  grey: { type: 0, channels: 1 },
  rgb: { type: 2, channels: 3 },
  palette: { type: 3, channels: 1 },
  'grey-alpha': { type: 4, channels: 2 },
  rgba: { type: 6, channels: 4 },
};

/** A PNG with one filter for each row, and the pixels it shows; the samples repeat `seed`. */
export function encodePng(
  made: { kind: PngKind; width: number; filters: readonly number[]; seed: readonly number[] },
  data?: Buffer,
  palette: readonly number[] = [],
): { png: Buffer; rgba: number[] } {
  const { type, channels } = TYPES[made.kind];
  const rowBytes = made.width * channels;
  const samples = Array.from({ length: rowBytes * made.filters.length }, (_, at) => {
    return ((made.seed[at % made.seed.length] ?? 0) + Math.floor(at / made.seed.length)) & 0xff;
  });
  const at = (row: number, column: number): number =>
    row < 0 || column < 0 ? 0 : (samples[row * rowBytes + column] ?? 0);
  const rows = made.filters.map((filter, row) => [
    filter,
    ...Array.from({ length: rowBytes }, (_, column) => {
      const [left, up, corner] = [at(row, column - channels), at(row - 1, column), at(row - 1, column - channels)];
      return (at(row, column) - guess(filter, left, up, column < channels ? 0 : corner)) & 0xff;
    }),
  ]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(made.width, 0);
  header.writeUInt32BE(made.filters.length, 4);
  header.set([8, type, 0, 0, 0], 8);
  const png = Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    ...(palette.length > 0 ? [chunk('PLTE', Buffer.from(palette))] : []),
    // In two pieces, as encoders write large pictures.
    ...halves(data ?? deflateSync(Buffer.from(rows.flat()))).map((part) => chunk('IDAT', part)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  const rgba: number[] = [];
  for (let pixel = 0; pixel < made.width * made.filters.length; pixel += 1) {
    const [a = 0, b = 0, c = 0, d = 0] = samples.slice(pixel * channels, (pixel + 1) * channels);
    rgba.push(...{ 1: [a, a, a, 255], 2: [a, a, a, b], 3: [a, b, c, 255], 4: [a, b, c, d] }[channels as 1 | 2 | 3 | 4]);
  }
  return { png, rgba };
}

const halves = (data: Buffer): Buffer[] => [data.subarray(0, data.length >> 1), data.subarray(data.length >> 1)];

/** The five filters as the PNG specification words them. */
function guess(filter: number, left: number, up: number, corner: number): number {
  if (filter < 3) return [0, left, up][filter] ?? 0;
  if (filter === 3) return Math.floor((left + up) / 2);
  const estimate = left + up - corner;
  const distances = [left, up, corner].map((value) => ({ value, distance: Math.abs(estimate - value) }));
  return distances.reduce((best, next) => (next.distance < best.distance ? next : best)).value;
}

function chunk(kind: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, Buffer.from(kind, 'latin1'), content, Buffer.alloc(4)]);
}
