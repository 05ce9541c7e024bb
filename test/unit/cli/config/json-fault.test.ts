import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFaultOffset } from '#cli/config/json-fault';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('the place where a text stops being JSON', () => {
  it.each([
    ['', 0],
    ['// no', 0],
    ['{"a": 1', 7],
    ['{"a": 1,}', 8],
    ['[1 2]', 3],
    ['{"a" 1}', 5],
    ['{"a": "x\ny"}', 6],
    ['01', 1],
    ['{} x', 3],
    ['"\\x"', 0],
  ])('of %j is %i', (text, offset) => {
    expect(jsonFaultOffset(text)).toBe(offset);
  });

  it('is the first bracket too many of a nest that is too deep', () => {
    expect(jsonFaultOffset('['.repeat(200) + ']'.repeat(200))).toBeNull();
    expect(jsonFaultOffset('['.repeat(100_000))).toBe(201);
  });

  it('is nowhere exactly when JSON.parse accepts the text', () => {
    const damaged = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', ',', '"', '{', ']', '0', '-', '.', 'e', '\\', '\n', '\u0000', ' '),
      )
      .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));
    fc.assert(
      fc.property(fc.oneof(fc.json(), damaged), (text) => {
        expect(jsonFaultOffset(text) === null).toBe(isJson(text));
      }),
      { numRuns: 500 },
    );
  });
});
