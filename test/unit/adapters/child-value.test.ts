import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameDecoder } from '#adapters/child-frames';
import { describeThrown, encodeValue } from '#adapters/child-value';

const LIMIT = 1000;

describe('a returned value', () => {
  it('arrives as JSON has it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(encodeValue(value, 1e6).text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('is told by name where JSON lacks it, and never throws', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (value) => {
          expect(['json', 'undefined', 'nan', 'infinity', 'not-json', 'too-large']).toContain(
            encodeValue(value, LIMIT).valueKind,
          );
        },
      ),
    );
    expect(encodeValue({ score: Infinity }, LIMIT).text).toBe('{"score":"Infinity"}');
    expect(encodeValue({ toJSON: () => undefined }, LIMIT).valueKind).toBe('undefined');
  });

  it('has a size limit in bytes, also where text itself has one', () => {
    expect(encodeValue('é'.repeat(499), LIMIT).valueKind).toBe('json');
    expect(encodeValue('é'.repeat(500), LIMIT).valueKind).toBe('too-large');
    const beyond = {
      toJSON: () => {
        throw new RangeError('Invalid string length');
      },
    };
    expect(encodeValue(beyond, LIMIT).valueKind).toBe('too-large');
  });
});

describe('a thrown value', () => {
  it('always has a description', () => {
    const proxy = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    );
    const bare: unknown = Object.create(null);
    for (const value of [undefined, null, 1n, Symbol('s'), proxy, bare, () => 1]) {
      expect(describeThrown(value)).toMatchObject({ name: null, message: expect.any(String) as string });
    }
    expect(describeThrown(new TypeError('x'.repeat(10_000))).message.length).toBeLessThan(5000);
  });
});

describe('the frames of a conversation', () => {
  it('are the same however the bytes were cut', () => {
    const frame = fc.record({
      header: fc.dictionary(fc.string(), fc.string()),
      body: fc.uint8Array({ maxLength: 50 }),
    });
    fc.assert(
      fc.property(fc.array(frame), fc.integer({ min: 1, max: 40 }), (frames, step) => {
        const bytes = Buffer.concat(frames.flatMap(({ header, body }) => encodeFrame(header, body)));
        const decoder = new FrameDecoder(1e6);
        const seen = [];
        for (let at = 0; at < bytes.length; at += step) seen.push(...decoder.push(bytes.subarray(at, at + step)));
        expect(seen.map(({ header, body }) => ({ header: { ...header }, body: [...body] }))).toEqual(
          frames.map(({ header, body }) => ({ header: { ...header }, body: [...body] })),
        );
      }),
    );
  });

  it('are refused over the limit before they are collected', () => {
    expect(() => new FrameDecoder(100).push(Buffer.alloc(8, 255))).toThrow('over the limit of 100');
  });
});
