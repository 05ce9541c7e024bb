import { cp, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundle, bundleMany, REPOSITORY } from '../../../infra/bundler.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-bundler-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
}

const outDir = (): string => path.join(folder, 'out');
const inFolder = (name: string): string => path.join(folder, name);

const TASK = {
  'd/task/task.ts': `import type { TaskModule } from '#sdk';
import * as z from 'zod';
import { rule } from './rules/rule.ts';
import { common } from '../_shared/common.ts';
import table from './table.json';
export const load: TaskModule['load'] = () => [{ name: z.string().parse(table.name), prompt: rule + common }];
export const evaluate: TaskModule['evaluate'] = () => 1;`,
  'd/task/rules/rule.ts': `import { more } from '../more.ts'; export const rule: string = 'rule' + more;`,
  'd/task/more.ts': `export const more = '!';`,
  'd/task/table.json': `{ "name": "base" }`,
  'd/_shared/common.ts': `export const common = '?';`,
};

describe('a bundle', () => {
  it('is one module that runs by itself, wherever its sources lie', async () => {
    await write(TASK);
    const made = await bundle(inFolder('d/task/task.ts'), { outDir: outDir(), kind: 'pure' });
    const module = (await import(pathToFileURL(made.path).href)) as { load: () => unknown };
    expect(module.load()).toEqual([{ name: 'base', prompt: 'rule!?' }]);
    expect(made.exports).toEqual(['evaluate', 'load']);
    expect(path.basename(made.path)).toBe(`${made.sha256}.mjs`);
  });

  it('has the same bytes from any folder, inside the repository or not, and tells none of them', async () => {
    await write(TASK);
    await cp(inFolder('d'), inFolder('some/where/deeper/e'), { recursive: true });
    const inside = await mkdtemp(path.join(REPOSITORY, 'node_modules', '.examhall-bundler-'));
    await cp(inFolder('d'), path.join(inside, 'd'), { recursive: true });
    const made = await Promise.all(
      [inFolder('d'), inFolder('some/where/deeper/e'), path.join(inside, 'd')].map((place, index) =>
        bundle(path.join(place, 'task/task.ts'), { outDir: `${outDir()}${index}`, kind: 'pure' }),
      ),
    );
    await rm(inside, { recursive: true });
    expect(new Set(made.map(({ sha256 }) => sha256)).size).toBe(1);
    const text = await readFile(made[0]?.path ?? '', 'utf8');
    expect(text).not.toContain(folder);
    expect(text).not.toContain(REPOSITORY);
  });

  it('is made anew when a source changes, and only then', async () => {
    await write(TASK);
    const entry = inFolder('d/task/task.ts');
    const first = await bundle(entry, { outDir: outDir(), kind: 'pure' });
    const again = await bundle(entry, { outDir: outDir(), kind: 'pure' });
    expect(again).toEqual(first);
    const old = new Date(0);
    await write({ 'd/task/more.ts': `export const more = '.';` });
    await utimes(inFolder('d/task/more.ts'), old, old);
    const changed = await bundle(entry, { outDir: outDir(), kind: 'pure' });
    expect(changed.sha256).not.toBe(first.sha256);
  });

  it('is made anew when its file was damaged', async () => {
    await write(TASK);
    const first = await bundle(inFolder('d/task/task.ts'), { outDir: outDir(), kind: 'pure' });
    await writeFile(first.path, 'damaged');
    const again = await bundle(inFolder('d/task/task.ts'), { outDir: outDir(), kind: 'pure' });
    expect(await readFile(again.path, 'utf8')).not.toBe('damaged');
    expect(again.sha256).toBe(first.sha256);
  });

  it('of our own code may import everything of the house', async () => {
    const entries = {
      grades: path.join(REPOSITORY, 'lambdas/shared/core/evaluation.ts'),
      child: path.join(REPOSITORY, 'lambdas/shared/adapters/child-entry.ts'),
    };
    const made = await bundleMany(entries, { outDir: outDir() });
    expect(Object.keys(made)).toEqual(['grades', 'child']);
    expect(made.grades.exports).toContain('gradeFromReport');
    expect(await readFile(made.child.path, 'utf8')).not.toMatch(/from ['"](#|\.)/);
  });

  it('still finds packages that ask for their parts with require', async () => {
    await write({ 'a.ts': `import { parse } from 'yaml'; export const evaluate = () => parse('a: 1');` });
    const made = await bundle(inFolder('a.ts'), { outDir: outDir(), kind: 'pure' });
    const module = (await import(pathToFileURL(made.path).href)) as { evaluate: () => unknown };
    expect(module.evaluate()).toEqual({ a: 1 });
  });
});

describe('an import that is not allowed is refused by name, file and line', () => {
  it.each([
    ['pure', 'node:fs'],
    ['pure', 'fs'],
    ['pure', 'esbuild'],
    ['pure', '@aws-sdk/client-dynamodb'],
    ['pure', '#core/errors'],
    ['pure', 'zod-of-someone-else'],
    ['pure', '../other/x.ts'],
    ['pure', './link.ts'],
    ['script', 'esbuild'],
    ['script', '#adapters/child-entry'],
  ] as const)('%s: %s', async (kind, specifier) => {
    await write({
      'd/task/task.ts': `export const a = 1;\nimport ${JSON.stringify(specifier)};`,
      'd/other/x.ts': 'export {};',
    });
    await symlink('../other/x.ts', inFolder('d/task/link.ts'));
    const entry = inFolder('d/task/task.ts');
    const failure = bundle(entry, { outDir: outDir(), kind });
    await expect(failure).rejects.toMatchObject({ name: 'BundleError' });
    await expect(failure).rejects.toThrow(`task.ts:2: imports "${specifier}"; allowed: #sdk, files of its own folder`);
  });

  it('but a script has the built-ins', async () => {
    await write({ 'a.ts': `import path from 'node:path'; export const a = path.sep;` });
    await expect(bundle(inFolder('a.ts'), { outDir: outDir(), kind: 'script' })).resolves.toBeDefined();
  });

  it('and every other fault is told with its place', async () => {
    await write({ 'a.ts': 'const a = 1;\nconst b = ;', 'b.ts': `import './gone.ts';` });
    await expect(bundle(inFolder('a.ts'), { outDir: outDir(), kind: 'pure' })).rejects.toThrow(/a\.ts:2: .*Unexpected/);
    await expect(bundle(inFolder('b.ts'), { outDir: outDir(), kind: 'pure' })).rejects.toThrow(
      'b.ts:1: Could not resolve "./gone.ts"',
    );
    await expect(bundle(inFolder('gone.ts'), { outDir: outDir() })).rejects.toThrow('gone.ts does not exist');
  });
});
