import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutSecret } from '#core/mask-secrets';

const SECRET = 'a1'.repeat(32);

it('takes a known secret out of every text of a value, and leaves the rest', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (value, before) => {
      const masked = withoutSecret({ value, leak: [`${before}${SECRET}`, { [SECRET]: 1 }] }, SECRET);
      expect(JSON.stringify(masked)).not.toContain(SECRET);
      expect(masked.leak[0]).toBe(`${before}***`);
      expect(masked.value).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it.each([null, ''])('leaves a value alone where there is no secret: %j', (secret) => {
  expect(withoutSecret({ text: 'as it was' }, secret)).toEqual({ text: 'as it was' });
});
