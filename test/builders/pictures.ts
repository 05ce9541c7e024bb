import { crc32, deflateSync } from 'node:zlib';

export interface PngOptions {
  readonly width?: number;
  readonly height?: number;
  /** PNG's colour type: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA. */
  readonly colorType?: 0 | 2 | 3 | 4 | 6;
  /** PNG's filter type of every row. */
  readonly filter?: 0 | 1 | 2 | 3 | 4;
  /** Bytes of one pixel. */
  readonly pixel?: (x: number, y: number) => readonly number[];
  readonly palette?: readonly number[];
  /** What the header says instead. */
  readonly header?: Partial<Record<'width' | 'height' | 'bitDepth' | 'interlace', number>>;
  /** Uncompressed rows instead of the right ones. */
  readonly rows?: Buffer;
}

/** A PNG made by the letter of its standard, or with one thing wrong. */
export function png(options: PngOptions = {}): Buffer {
  const { width = 8, height = 6, colorType = 2, palette, header = {} } = options;
  const ihdr = Buffer.alloc(13);
  ihdr.writeUInt32BE(header.width ?? width, 0);
  ihdr.writeUInt32BE(header.height ?? height, 4);
  ihdr.set([header.bitDepth ?? 8, colorType, 0, 0, header.interlace ?? 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', ihdr),
    ...(palette === undefined ? [] : [chunk('PLTE', Buffer.from(palette))]),
    chunk('IDAT', deflateSync(options.rows ?? filteredRows(options, width, height), { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A picture of one colour. */
export function plainPng(width: number, height: number, rgb: readonly [number, number, number]): Buffer {
  return png({ width, height, pixel: () => rgb });
}

function filteredRows({ filter = 0, pixel = gradient }: PngOptions, width: number, height: number): Buffer {
  const step = pixel(0, 0).length;
  const rows: Buffer[] = [];
  let above = Buffer.alloc(width * step);
  for (let y = 0; y < height; y += 1) {
    const row = Buffer.from(Array.from({ length: width }, (_, x) => [...pixel(x, y)]).flat());
    rows.push(Buffer.from([filter]), filtered(filter, row, above, step));
    above = row;
  }
  return Buffer.concat(rows);
}

function filtered(filter: number, row: Buffer, above: Buffer, step: number): Buffer {
  return Buffer.from(
    row.map((value, at) => {
      const a = at < step ? 0 : (row[at - step] ?? 0);
      const b = above[at] ?? 0;
      const c = at < step ? 0 : (above[at - step] ?? 0);
      const p = a + b - c;
      const nearest = [a, b, c].reduce((best, each) => (Math.abs(p - each) < Math.abs(p - best) ? each : best));
      return value - ([0, a, b, Math.floor((a + b) / 2), nearest][filter] ?? 0);
    }),
  );
}

const gradient = (x: number, y: number): readonly number[] => [x * 20, y * 30, (x * y) % 256];

function chunk(kind: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(kind, 'latin1'), body]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(body.length, 0);
  named.copy(out, 4);
  out.writeUInt32BE(crc32(named), named.length + 4);
  return out;
}
