import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectKeyOf } from '#guest/object-key';

/** Relative paths of any bytes but NUL and empty names. */
const names = fc.array(
  fc
    .uint8Array({ minLength: 1, maxLength: 30 })
    .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x41 : byte)))),
  { minLength: 1, maxLength: 4 },
);
const path = names.map((parts) =>
  Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from('/'), part]))),
);

describe('the key of a collected path', () => {
  it('leaves ordinary names alone', () => {
    expect(objectKeyOf(Buffer.from('sub/form_1040-v1.json'))).toBe('sub/form_1040-v1.json');
  });

  it('escapes every other byte', () => {
    expect(objectKeyOf(Buffer.from('a b/ü\n%'))).toBe('a%20b/%C3%BC%0A%25');
    expect(objectKeyOf(Buffer.from([0xff]))).toBe('%FF');
  });

  it('hashes what would be too long', () => {
    expect(objectKeyOf(Buffer.from('a'.repeat(201)))).toMatch(/^%%[0-9a-f]{64}$/);
    expect(objectKeyOf(Buffer.from('a'.repeat(200)))).toBe('a'.repeat(200));
    expect(objectKeyOf(Buffer.from('ab/'.repeat(300)))).toMatch(/^%%[0-9a-f]{64}$/);
  });

  it('is safe in a URL and a form, and says for every two paths which is which', () => {
    fc.assert(
      fc.property(path, path, (left, right) => {
        const [a, b] = [objectKeyOf(left), objectKeyOf(right)];
        return /^[A-Za-z0-9._%/-]+$/.test(a) && (a === b) === left.equals(right);
      }),
    );
  });

  it('can be read back where it is not hashed', () => {
    fc.assert(
      fc.property(path, (each) => {
        const key = objectKeyOf(each);
        if (key.startsWith('%%')) return;
        const bytes = key.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
        expect(Buffer.from(bytes, 'latin1').equals(each)).toBe(true);
      }),
    );
  });
});
