import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { compareUtf8, encodeParts, isWellFormed, toWellFormed, utf8Bytes } from '#core/utf8';

const anyText = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\ud83d', '\ude00', '\uffff')),
});

describe('UTF-8 of texts', () => {
  it('counts the bytes an encoder gives', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(utf8Bytes(toWellFormed(text))).toBe(Buffer.byteLength(text));
      }),
    );
  });

  it('tells and mends half surrogate pairs as an encoder does', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const encoded = Buffer.from(text, 'utf8').toString('utf8');
        expect(toWellFormed(text)).toBe(encoded);
        expect(isWellFormed(text)).toBe(encoded === text);
      }),
    );
  });

  it('orders as the bytes do', () => {
    const wellFormed = anyText.map(toWellFormed);
    fc.assert(
      fc.property(wellFormed, wellFormed, (left, right) => {
        const wanted = Buffer.compare(Buffer.from(left), Buffer.from(right));
        expect(Math.sign(compareUtf8(left, right))).toBe(wanted);
      }),
    );
    expect(compareUtf8('\uffff', '\u{10000}')).toBeLessThan(0);
    expect(['\uffff', '\u{10000}'].sort()).toEqual(['\u{10000}', '\uffff']);
  });

  it('encodes parts as the whole', () => {
    const parts = fc.array(anyText.map(toWellFormed));
    fc.assert(
      fc.property(parts, (texts) => {
        expect(Buffer.from(encodeParts(texts)).toString('utf8')).toBe(texts.join(''));
      }),
    );
  });
});
