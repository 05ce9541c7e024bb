import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, canonicalJsonText } from '#core/canonical-json';

/** The same value with the keys of every object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, shuffled(item)]),
  );
}

describe('canonicalJson', () => {
  it('gives one ASCII text for a value, in whatever order its keys came, that reads as the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnpairedSurrogates: false } as object), (value) => {
        const text = canonicalJson(value);
        expect(text).toBe(canonicalJson(shuffled(value)));
        expect(text).toMatch(/^[ -~]*$/u);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(canonicalJsonText(value)))).toBe(text);
      }),
    );
  });

  it('orders keys by UTF-16 units and leaves undefined out', () => {
    expect(canonicalJson({ b: 1, a: [{ z: null, y: true }], 10: 'x', é: '\u2028😀', no: undefined })).toBe(
      String.raw`{"10":"x","a":[{"y":true,"z":null}],"b":1,"\u00e9":"\u2028\ud83d\ude00"}`,
    );
  });

  it('keeps a key named __proto__', () => {
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
  });

  it.each([[NaN], [Infinity], [10n], [() => 1], [Symbol('x')]])('refuses %s and says where it is', (value) => {
    expect(() => canonicalJson({ a: [0, value] })).toThrow(/\$\.a\[1\]/u);
  });
});
