import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOutputBuffer } from '#guest/vm-primitives-output';

const text = fc.string({ unit: 'grapheme', maxLength: 60 });

/** The bytes in pieces of these lengths, over and over. */
function pieces(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const cut: Buffer[] = [];
  for (let from = 0, at = 0; from < bytes.length; at += 1) {
    const to = from + (lengths[at % lengths.length] ?? 1);
    cut.push(bytes.subarray(from, to));
    from = to;
  }
  return cut;
}

describe('the output of a terminal', () => {
  it('comes out as it went in, wherever it was cut and however often it was read', () => {
    fc.assert(
      fc.property(
        text,
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
        fc.boolean(),
        (given, lengths, often) => {
          const buffer = createOutputBuffer(10_000);
          let read = '';
          for (const piece of pieces(Buffer.from(given), lengths)) {
            buffer.push(piece);
            if (often) read += buffer.drain(false).text;
          }
          const { text: rest, isCut } = buffer.drain(true);
          expect(read + rest).toBe(given);
          expect(isCut).toBe(false);
          expect(buffer.isEmpty).toBe(true);
        },
      ),
    );
  });

  it('keeps the newest when there is too much, from the first whole character on, and says so once', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 40 }), (given, limit) => {
        const buffer = createOutputBuffer(limit);
        for (const piece of pieces(Buffer.from(given), [3])) buffer.push(piece);
        const { text: kept, isCut } = buffer.drain(true);
        expect(given.endsWith(kept)).toBe(true);
        expect(isCut).toBe(Buffer.byteLength(given) > limit);
        expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(limit);
        expect(Buffer.byteLength(kept)).toBeGreaterThan(Math.min(limit, Buffer.byteLength(given)) - 4);
        expect(buffer.drain(true)).toEqual({ text: '', isCut: false });
      }),
    );
  });

  it('shows bytes that are no text as such, when nothing more will come', () => {
    const buffer = createOutputBuffer(100);
    buffer.push(Buffer.from([0x61, 0xe2, 0x82]));
    expect(buffer.drain(false).text).toBe('a');
    expect(buffer.drain(true).text).toBe('\ufffd');
  });
});
