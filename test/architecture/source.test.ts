import { describe, expect, it } from 'vitest';
import { checkFileName, checkVocabulary, wordsOf } from './names.ts';
import { checkFileSize, checkFunctionSize, countLines, hasSizeLimit } from './shape.ts';
import { codeFiles, filesMatching, parseCode, violationsIn } from './source-tree.ts';
import { checkTestHygiene } from './test-hygiene.ts';
import { checkDefaultExport, checkTypeSafety } from './type-safety.ts';

const files = codeFiles();
const isTaskData = (file: string): boolean => /^tasks\/[^/]+\/[^/]+\/[^/]+\//.test(file);
const lines = (count: number): string => 'x;\n'.repeat(count);
const linesFound = (found: readonly { line: number }[]): number[] => found.map(({ line }) => line);

describe('every source file', () => {
  it('is short', () => {
    const sized = filesMatching('of a kind with a size limit', (file) => hasSizeLimit(file) && !isTaskData(file));
    expect(violationsIn(sized, checkFileSize)).toEqual([]);
  });

  it('has short functions', () => {
    expect(violationsIn(files, checkFunctionSize)).toEqual([]);
  });

  it('has a name that says what is in it', () => {
    expect(violationsIn(files, (file) => checkFileName(file.path))).toEqual([]);
  });

  it('uses our words', () => {
    const ours = files.filter((file) => /^(?:lambdas|infra)\//.test(file.path));
    expect(ours.length).toBeGreaterThan(0);
    expect(violationsIn(ours, checkVocabulary)).toEqual([]);
  });

  it('goes around neither the type checker nor the linter', () => {
    expect(violationsIn(files, checkTypeSafety)).toEqual([]);
    expect(violationsIn(files, checkDefaultExport)).toEqual([]);
  });

  it('leaves no test out', () => {
    const tests = files.filter((file) => file.path.startsWith('test/') && file.path !== 'test/runner/tier.ts');
    expect(tests.length).toBeGreaterThan(0);
    expect(violationsIn(tests, checkTestHygiene)).toEqual([]);
  });
});

describe('the size rules', () => {
  it.each([
    ['lambdas/run-agent/handler.ts', 60],
    ['state-machines/unit.asl.json', 700],
    ['infra/cli/run.ts', 300],
  ])('%s may have %i lines and not one more', (path, limit) => {
    expect(checkFileSize({ path, text: lines(limit) })).toEqual([]);
    expect(checkFileSize({ path, text: lines(limit + 1) })).toHaveLength(1);
  });

  it('counts lines with and without a final newline', () => {
    expect([countLines(''), countLines('a'), countLines('a\n'), countLines('a\nb')]).toEqual([0, 1, 1, 2]);
  });

  it('a function may have 50 lines, a constructor 80, in every form', () => {
    const body = (count: number): string => `{\n${lines(count - 2)}}`;
    const long = (source: (text: string) => string, limit: number): number[] =>
      [limit, limit + 1].map((count) => checkFunctionSize(parseCode('infra/a.ts', source(body(count)))).length);
    expect(long((text) => `function f() ${text}`, 50)).toEqual([0, 1]);
    expect(long((text) => `const f = async () => ${text}`, 50)).toEqual([0, 1]);
    expect(long((text) => `class A { f() ${text} }`, 50)).toEqual([0, 1]);
    expect(long((text) => `class A { constructor() ${text} }`, 80)).toEqual([0, 1]);
  });

  it('lets a suite be long and not a case', () => {
    const suite = `describe('x', () => {\n${`it('y', () => {});\n`.repeat(60)}});`;
    const each = `describe.each([1])('x', () => {\n${`it('y', () => {});\n`.repeat(60)}});`;
    expect(checkFunctionSize(parseCode('test/unit/a.test.ts', suite + each))).toEqual([]);
    expect(checkFunctionSize(parseCode('infra/a.ts', suite))).toHaveLength(1);
    expect(checkFunctionSize(parseCode('test/unit/a.test.ts', `it('y', () => {\n${lines(60)}});`))).toHaveLength(1);
  });
});

describe('the naming rules', () => {
  it.each([
    'infra/utils.ts',
    'lambdas/shared/core/index.ts',
    'test/helpers.ts',
    'infra/local/runHost.ts',
    'infra/local/vm-pool.ts',
  ])('refuse %s', (file) => {
    expect(checkFileName(file)).toHaveLength(1);
  });

  it.each(['infra/local/object-store.ts', 'test/unit/a.test.ts', 'test/vitest.config.ts'])('allow %s', (file) => {
    expect(checkFileName(file)).toEqual([]);
  });

  it('refuse a synonym in an exported name and leave upstream keys alone', () => {
    const check = (source: string): number => checkVocabulary(parseCode('infra/a.ts', source)).length;
    expect(check('export function startVm() {}')).toBe(1);
    expect(check('export const scorerPath = 1;')).toBe(1);
    expect(check('export interface Sample { a: 1 }')).toBe(1);
    expect(check('export const Card = { vm: 1 }; const vm = 2;')).toBe(0);
    expect(wordsOf('HTTPServerVmId2')).toEqual(['http', 'server', 'vm', 'id2']);
  });
});

describe('the type rules', () => {
  it.each([
    'let a: any;',
    'let a = b!;',
    'let a = b as unknown as string;',
    'let a = (b as unknown) as string;',
    'enum A { B }',
    'namespace A { export const b = 1; }',
    `// @ts-ignore\nlet a = 1;`,
    `let a = 1; // eslint-disable-line no-var`,
    `foo(/* eslint-disable */);`,
  ])('refuse %s', (source) => {
    expect(checkTypeSafety(parseCode('infra/a.ts', source))).toHaveLength(1);
  });

  it('allow what only looks like it, and a disabled rule with its reason', () => {
    const source = `const a = 'any ! @ts-ignore'; let b: unknown = !a;\n// eslint-disable-next-line no-var -- the old form\nvar c;`;
    expect(checkTypeSafety(parseCode('infra/a.ts', source))).toEqual([]);
  });

  it('refuse default exports where no tool asks for one', () => {
    expect(linesFound(checkDefaultExport(parseCode('infra/a.ts', '\nexport default 1;')))).toEqual([2]);
    expect(linesFound(checkDefaultExport(parseCode('infra/a.ts', 'export default function f() {}')))).toEqual([1]);
    expect(checkDefaultExport(parseCode('test/vitest.config.ts', 'export default 1;'))).toEqual([]);
  });
});

describe('the rule about tests left out', () => {
  it.each([
    `it.only('a', () => {});`,
    `describe.skip('a', () => {});`,
    `it.skipIf(true)('a', () => {});`,
    `describe.runIf(true)('a', () => {});`,
    `it.each([1]).only('a', () => {});`,
    `xit('a', () => {});`,
    `it('a', (ctx) => { ctx.skip(); });`,
    `vi.mock('#core/ids');`,
  ])('refuses %s', (source) => {
    expect(checkTestHygiene(parseCode('test/unit/a.test.ts', source))).toHaveLength(1);
  });

  it('allows cases, tables and a property that is called skip', () => {
    const source = `it.each([1])('a', () => { expect(plan.skip).toBe(1); }); describe('b', () => {}); vi.fn();`;
    expect(checkTestHygiene(parseCode('test/unit/a.test.ts', source))).toEqual([]);
  });
});
