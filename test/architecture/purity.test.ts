import { describe, expect, it } from 'vitest';
import { checkPurity, impureGlobals, outwardGlobals } from './purity.ts';
import { codeFiles, parseCode, violationsIn } from './source-tree.ts';

const files = codeFiles();

describe('pure parts stay pure', () => {
  it.each([
    ['core', impureGlobals],
    ['usecases', impureGlobals],
    ['grading', outwardGlobals],
  ])('%s reaches for nothing but its arguments', (folder, globals) => {
    const inside = files.filter((file) => file.path.startsWith(`lambdas/shared/${folder}/`));
    expect(inside.length).toBeGreaterThan(0);
    expect(violationsIn(inside, (file) => checkPurity(file, globals))).toEqual([]);
  });
});

describe('the purity rule', () => {
  const linesOf = (source: string) =>
    checkPurity(parseCode('lambdas/shared/core/a.ts', source)).map(({ line }) => line);

  it.each([
    'const a = Date.now();',
    'const a = new Date();',
    'const a = new Date;',
    'const a = Date();',
    'const a = Math.random();',
    'const a = process.env;',
    'setTimeout(() => 1, 2);',
    'const a = { fetch };',
    'const a = crypto.randomUUID();',
    'const a = [1].map(console.log);',
  ])('refuses %s', (source) => {
    expect(linesOf(source)).toEqual([1]);
  });

  it.each([
    'const a = new Date(0).toISOString();',
    'const a = { process: 1 }; const b = a.process;',
    'interface A { fetch(): void; process: string }',
    'export function f(fetch: () => number): number { return fetch(); }',
    'const a = Date.parse("2020-01-01"); const b = Math.max(1, 2);',
  ])('allows %s', (source) => {
    expect(linesOf(source)).toEqual([]);
  });
});
