import fc from 'fast-check';
import { expect, it } from 'vitest';
import { maskSecrets, secretPaths, withoutSecret } from '#core/mask-secrets';

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

const KEYS = ['api_key', 'max_tokens', 'note', 'MY_TOKEN', 'list'];
const settings = fc.letrec<{ value: unknown; settings: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('', 'plain', 7, null, true, 'sk-0123456789abcdefgh', 'http://me:hidden@10.0.0.1'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('settings'),
  ),
  settings: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 3 }),
})).settings;

it('names the place of each secret that masking would hide, and of nothing else', () => {
  const at = (value: unknown, path: readonly (string | number)[]): unknown =>
    path.reduce<unknown>((inner, step) => Reflect.get(Object(inner), step), value);
  const without = (value: unknown, path: readonly (string | number)[]): void => {
    Reflect.set(Object(at(value, path.slice(0, -1))), path.at(-1) ?? '', null);
  };
  fc.assert(
    fc.property(settings, (config) => {
      const paths = secretPaths(config);
      const masked = maskSecrets(config);
      for (const path of paths) expect(at(masked, path)).not.toEqual(at(config, path));
      const cleared = structuredClone(config);
      for (const path of paths) without(cleared, path);
      expect(maskSecrets(cleared)).toEqual(cleared);
    }),
  );
});

it.each([
  [{ api_key: 'x' }, [['api_key']]],
  [{ a: [{ password: 'x' }, { note: 'a token' }] }, [['a', 0, 'password']]],
  [{ api_key: '', max_tokens: 5, thinkingToken: 'x' }, []],
])('finds the secrets of %j at %j', (config, paths) => {
  expect(secretPaths(config)).toEqual(paths);
});
