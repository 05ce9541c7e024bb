import fc from 'fast-check';

/** Texts that parsers, paths and prompts have tripped over. */
export const weird = fc.oneof(
  fc.constantFrom(
    ...['..', '../../etc/passwd', '..%2f..%2f.examhall%2fstate.db', '%2e%2e%5c', '%00', '%', '%zz', '%ff%fe', '%u0041'],
    ...[
      '__proto__',
      'constructor',
      'toString',
      '{sweepId}',
      '$ref',
      '*',
      '.',
      '~',
      "' OR 1=1 --",
      '<script>',
      '${7*7}',
    ],
    ...['\u202e', 'é', '\u{1f600}', '%F0%9F%98%80', 'a'.repeat(600), 'x/'.repeat(200), '#', '?', '\\', ';a=b'],
  ),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom<unknown>(null, -1, 1e308, '', [], {}, '\u0000', '\ud800', '__proto__', '../../x', 'a'.repeat(5_000)),
  fc.integer(),
  weird,
);

/** A body that would do, with one value of it changed, added or left out. */
const nearlyRight = (bodies: readonly object[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...bodies), fc.nat(), hostileValue, fc.nat(3), weird)
    .map(([body, at, value, way, name]) => JSON.stringify(edited(body, at, { value, way, name })));

interface Edit {
  readonly value: unknown;
  readonly way: number;
  readonly name: string;
}

function edited(body: unknown, at: number, edit: Edit): unknown {
  if (typeof body !== 'object' || body === null) return edit.value;
  const entries = Object.entries(body) as [string, unknown][];
  const chosen = entries[at % Math.max(1, entries.length)];
  if (chosen === undefined) return edit.value;
  const [key, item] = chosen;
  const rest = Math.floor(at / Math.max(1, entries.length));
  const changed = edit.way === 0 ? edit.value : edited(item, rest, edit);
  const kept = edit.way === 1 ? entries.filter(([each]) => each !== key) : entries;
  if (Array.isArray(body)) return body.map((each: unknown, index) => (String(index) === key ? changed : each));
  return Object.fromEntries([
    ...kept.map(([each, old]) => [each, each === key ? changed : old]),
    ...(edit.way === 2 ? [[edit.name, edit.value]] : []),
  ]);
}

/** Bodies that would do but for one thing, and bodies that nothing can be made of. */
export const bodyOf = (bodies: readonly object[]): fc.Arbitrary<Buffer> =>
  fc.oneof(
    { weight: 80, arbitrary: fc.constant(Buffer.alloc(0)) },
    { weight: 200, arbitrary: nearlyRight(bodies).map((text) => Buffer.from(text)) },
    { weight: 40, arbitrary: fc.constantFrom(...bodies).map((body) => Buffer.from(JSON.stringify(body))) },
    { weight: 60, arbitrary: hostileValue.map((value) => Buffer.from(JSON.stringify(value))) },
    {
      weight: 40,
      arbitrary: fc
        .tuple(fc.constantFrom('[', '{"a":', '[{"__proto__":'), fc.constantFrom(40, 1_000, 100_000))
        .map(([open, depth]) => Buffer.from(open.repeat(depth))),
    },
    {
      weight: 40,
      arbitrary: fc
        .constantFrom(
          '{"__proto__":{"admin":true},"name":"x"}',
          '{"constructor":{"prototype":{"admin":true}}}',
          '{"name":"a","name":"b"}',
          '{"name":1e999}',
          '\ufeff{}',
          '{"name":"\\ud800"}',
          '[1,2',
          'null',
        )
        .map((text) => Buffer.from(text)),
    },
    { weight: 20, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(3, 5).map((mib) => Buffer.from(`{"name":"${'x'.repeat(mib * 1024 * 1024)}"}`)),
    },
    { weight: 6, arbitrary: fc.constant(Buffer.from(`[${'1,'.repeat(300_000)}1]`)) },
  );
