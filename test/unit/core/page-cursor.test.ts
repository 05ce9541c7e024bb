import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isErrorNamed } from '#core/errors';
import { decodeCursor, encodeCursor } from '#core/page-cursor';

describe('cursors', () => {
  const anyText = fc.string({ unit: 'grapheme' });

  it('give their last key back to their own query, in base64url', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.string({ unit: 'grapheme', minLength: 1 }), (pk, prefix, lastKey) => {
        const cursor = encodeCursor([pk, prefix], lastKey);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))).toEqual([1, pk, prefix, lastKey]);
        expect(decodeCursor([pk, prefix], cursor)).toBe(lastKey);
      }),
    );
  });

  it("are refused by any other query, and whatever is no cursor is refused, as the caller's fault", () => {
    const refusal = (query: readonly unknown[], cursor: string): unknown => {
      try {
        return decodeCursor(query, cursor);
      } catch (error) {
        return isErrorNamed(error, 'InvalidRequestError') ? 'refused' : error;
      }
    };
    const cursor = encodeCursor(['a', true], 'key');
    for (const other of [['b', true], ['a', false], ['a'], ['a', true, ''], [true, 'a']]) {
      expect(refusal(other, cursor)).toBe('refused');
    }
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
        ),
        (text) => {
          expect(refusal(['a'], text)).toBe('refused');
        },
      ),
    );
  });
});
