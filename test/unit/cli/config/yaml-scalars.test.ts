import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseYaml } from '#cli/config/yaml-source';
import { valueAt } from '#core/located';
import table from '../../../fixtures/config/pyyaml-scalars.json' with { type: 'json' };

const noVariables = { values: {}, secretNames: new Set<string>() };

/** What `k: <text>` is read as, or `error`. */
function read(text: string): unknown {
  const { source } = parseYaml(`k: ${text}`, 'table.yaml', noVariables);
  return source === null ? 'error' : valueAt(source.value, ['k']);
}

const floats: Readonly<Record<string, number>> = { inf: Infinity, '-inf': -Infinity, nan: NaN };

describe('plain scalars', () => {
  it('are read as PyYAML reads them', () => {
    expect(table.scalars.length).toBeGreaterThan(300);
    const differing = table.scalars.filter((row) => {
      const [text, kind, value] = row as [string, string, unknown];
      const got = read(text);
      if (kind === 'error') return got !== 'error';
      if (kind === 'date') return got !== text;
      const expected = kind === 'number' && typeof value === 'string' ? floats[value] : value;
      return got !== expected && !(Number.isNaN(got) && Number.isNaN(expected));
    });
    expect(differing).toEqual([]);
  });

  it.each([
    ['off', false],
    ['yes', true],
    ['y', 'y'],
    ['010', 8],
    ['08', '08'],
    ['0o10', '0o10'],
    ['1e3', '1e3'],
    ['1.0e3', '1.0e3'],
    ['1.0e+3', 1000],
    ['1:30', 90],
    ['-.5', '-.5'],
    ['2026-10-08', '2026-10-08'],
    ['~', null],
  ])('%s is %j', (text, value) => {
    expect(read(text)).toBe(value);
  });

  it('are decimal whole numbers exactly when written as one without leading zeros', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 52), max: 2 ** 52 }), (number) => {
        expect(read(String(number))).toBe(number === 0 ? 0 : number);
      }),
    );
  });

  it('in quotes are always text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(read(JSON.stringify(text))).toBe(text);
      }),
    );
  });
});

describe('merge keys', () => {
  const text = 'a: &a {x: 1, y: 2}\nb: &b {x: 3, z: 4}\nc:\n  y: 9\n  <<: [*a, *b]\nd: {<<: *a, <<: *b}\n"<<": 5\n';

  it('fill in what is not written, the first source winning', () => {
    expect(parseYaml(text, 'm.yaml', noVariables).source?.value).toMatchObject({
      c: { x: 1, y: 9, z: 4 },
      d: { x: 1, y: 2, z: 4 },
      '<<': 5,
    });
  });

  it('lead to where the value is written', () => {
    const source = parseYaml(text, 'm.yaml', noVariables).source;
    expect(source?.locate(['c', 'z'])).toMatchObject({ line: 2, column: 17 });
    expect(source?.locate(['c', 'y'], 'key')).toMatchObject({ line: 4, column: 3 });
    expect(source?.locate(['c', 'none'])).toMatchObject({ line: 3, column: 1 });
  });
});

describe('places', () => {
  it('are found again for every value of any document', () => {
    const leaf = fc.integer({ min: 0, max: 99 });
    const tree = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), tie('node'), { maxKeys: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(tree, (value) => {
        const text = JSON.stringify({ top: value }, null, 2);
        const source = parseYaml(text, 'tree.yaml', noVariables).source;
        for (const [path, expected] of leaves({ top: value }, [])) {
          const at = source?.locate(path);
          const rest = text.split('\n')[(at?.line ?? 0) - 1]?.slice((at?.column ?? 0) - 1);
          expect(Number.parseInt(rest ?? '', 10)).toBe(expected);
        }
      }),
    );
  });
});

function leaves(value: unknown, path: readonly (string | number)[]): [readonly (string | number)[], unknown][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => leaves(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, item]) => leaves(item, [...path, key]));
}
