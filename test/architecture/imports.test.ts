import { describe, expect, it } from 'vitest';
import { buildGraph, closureOf, findCycles, importsOf, resolveImport } from './import-graph.ts';
import { checkImports, importTable, partOf } from './import-table.ts';
import { codeFiles, parseCode, violationsIn } from './source-tree.ts';

const files = codeFiles();
const anyFile = (): boolean => true;

function allowedIn(file: string, source: string): boolean {
  return checkImports(parseCode(file, source), anyFile).length === 0;
}

describe('who may import whom', () => {
  it('every import is allowed by the table', () => {
    expect(violationsIn(files, (file) => checkImports(file))).toEqual([]);
  });

  it('nothing under lambdas imports infra', () => {
    const graph = buildGraph(files.filter((file) => file.path.startsWith('lambdas/')));
    expect(graph.size).toBeGreaterThan(0);
    expect([...graph].filter(([, targets]) => targets.some((target) => target.startsWith('infra/')))).toEqual([]);
  });

  it('no import cycles, types included', () => {
    expect(findCycles(buildGraph(files)).map((cycle) => cycle.join(' <-> '))).toEqual([]);
  });

  it('the guest files and core/cua pull in no package', () => {
    const graph = buildGraph(files);
    const starts = files.filter((file) => ['guest', 'core/cua'].includes(partOf(file.path) ?? ''));
    expect(starts.length).toBeGreaterThan(0);
    const reached = new Set(starts.flatMap((file) => closureOf(graph, file.path)));
    const packages = files
      .filter((file) => reached.has(file.path))
      .flatMap((file) =>
        importsOf(file)
          .filter((found) => !found.isTypeOnly && resolveImport(file.path, found.specifier).kind === 'package')
          .map((found) => `${file.path}:${found.line} ${found.specifier}`),
      );
    expect(packages).toEqual([]);
  });

  it('the stand-in of the cloud reaches no adapter over it, by no detour', () => {
    const graph = buildGraph(files);
    const starts = files.filter(({ path }) => partOf(path) === 'test/stand-in');
    expect(starts.length).toBeGreaterThan(10);
    const reached = new Set(starts.flatMap(({ path }) => closureOf(graph, path)));
    expect([...reached].filter((path) => /\/(?:adapters|usecases|runtime)\//u.test(path))).toEqual([]);
  });
});

describe('the import rule can fail', () => {
  it.each<[string, string]>([
    ['lambdas/shared/core/a.ts', `import fs from 'node:fs';`],
    ['lambdas/shared/core/a.ts', `import { b } from '#ports/b';`],
    ['lambdas/shared/core/a.ts', `import type { b } from '#adapters/b';`],
    ['lambdas/shared/core/a.ts', `import { ulid } from 'ulid';`],
    ['lambdas/shared/ports/a.ts', `import * as z from 'zod';`],
    ['lambdas/shared/ports/a.ts', `import { b } from '#contracts/guest';`],
    ['lambdas/shared/usecases/a.ts', `import { b } from './b.ts';`],
    ['lambdas/shared/usecases/steps/a.ts', `import { b } from '#usecases/b';`],
    ['lambdas/shared/usecases/a.ts', `import * as z from 'zod';`],
    ['lambdas/shared/usecases/a.ts', `import { b } from '#adapters/b';`],
    ['lambdas/shared/grading/a.ts', `import fs from 'node:fs';`],
    ['lambdas/shared/adapters/a.ts', `export * from '../../../infra/local/host.ts';`],
    ['lambdas/run-agent/handler.ts', `import { b } from '#core/b';`],
    ['lambdas/run-agent/handler.ts', `import { b } from '../stage-unit/handler.ts';`],
    ['infra/local/a.ts', `import { handler } from '../../lambdas/run-agent/handler.ts';`],
    ['infra/local/a.ts', `import { b } from '#adapters/b';`],
    ['infra/cli/a.ts', `import { host } from '#local/host';`],
    ['infra/stacks/a.ts', `import { b } from '#usecases/b';`],
    ['tasks/d/t/task.ts', `import { b } from '#core/b';`],
    ['tasks/d/t/task.ts', `import { b } from '../other/task.ts';`],
    ['tasks/d/t/task.ts', `const b = await import('node:fs');`],
    ['agents/a/parse.ts', `import * as z from 'zod';`],
    ['images/guest/runner.ts', `import { b } from '#core/blame';`],
    ['images/guest/runner.ts', `import * as z from 'zod';`],
    ['images/guest/runner.ts', `import { createTurns } from './mcp-turns.ts';`],
    ['images/guest/cua-desktop.ts', `import { b } from '#core/blame';`],
    ['images/guest/runner.ts', `import { b } from '#adapters/cua-channel';`],
    ['lambdas/shared/adapters/cua-client-http.ts', `import { b } from '#core/errors';`],
    ['lambdas/shared/core/cua/keys.ts', `import * as z from 'zod';`],
    ['lambdas/shared/junk/a.ts', ``],
    ['test/emulators/cloud/a.ts', `import { b } from '#adapters/ec2-state';`],
    ['test/emulators/cloud/a.ts', `import { b } from '#core/launch-plan';`],
    ['test/emulators/cloud/a.ts', `import { b } from '#contracts/guest';`],
    ['test/emulators/cloud/a.ts', `import { b } from '#usecases/run-agent';`],
    ['test/emulators/cloud/a.ts', `import type { b } from '#ports/clock';`],
  ])('%s may not contain %s', (file, source) => {
    expect(allowedIn(file, source)).toBe(false);
  });

  it.each([
    ['lambdas/shared/core/a.ts', `import * as z from 'zod'; import { b } from './b.ts';`],
    ['lambdas/shared/usecases/a.ts', `import type { Clock } from '#ports/clock'; import { b } from './steps/b.ts';`],
    [
      'lambdas/run-agent/handler.ts',
      `import { a } from '#runtime/define-handler'; import { b } from '#usecases/run-agent';`,
    ],
    ['infra/cli/a.ts', `const { host } = await import('#local/host'); import type { Host } from '#local/host';`],
    ['infra/stacks/a.ts', `import type { b } from '#core/b'; import { App } from 'aws-cdk-lib';`],
    [
      'tasks/d/t/task.ts',
      `import { b } from '#sdk'; import { c } from './rules.ts'; import { d } from '../_shared/d.ts';`,
    ],
    ['tasks/d/t/solution.ts', `import { b } from 'node:fs';`],
    ['images/guest/runner.ts', `import { frame } from '#core/cua/frame'; import fs from 'node:fs';`],
    ['images/guest/cua-desktop.ts', `import { createCuaClient } from '#adapters/cua-client';`],
    ['infra/local/a.ts', `import { createCuaDesktop } from '#adapters/cua-desktop';`],
    ['test/emulators/cloud/a.ts', `import { b } from '@aws-sdk/client-ec2'; import { c } from '#local/clock';`],
  ])('%s may contain %s', (file, source) => {
    expect(allowedIn(file, source)).toBe(true);
  });

  it('an alias that leads nowhere is reported with its line', () => {
    const file = parseCode('lambdas/shared/core/a.ts', `\n\nimport { b } from '#core/does-not-exist';`);
    expect(checkImports(file)).toEqual([
      { file: file.path, line: 3, message: '"#core/does-not-exist" leads to no file' },
    ]);
  });

  it('every part of the table has a name that some path gives', () => {
    const paths = ['lambdas/shared/sdk.ts', 'lambdas/run-agent/handler.ts', 'tasks/d/t/task.ts', 'agents/a/parse.ts'];
    const shared = ['core', 'ports', 'usecases', 'adapters', 'grading', 'contracts', 'runtime'];
    paths.push(
      ...shared.map((folder) => `lambdas/shared/${folder}/a.ts`),
      'images/guest/a.ts',
      'images/guest/mcp-a.ts',
      'images/linux/verify.ts',
    );
    paths.push(
      'infra/app.ts',
      'infra/local/a.ts',
      'infra/cli/a.ts',
      'infra/bundler.ts',
      'test/a.ts',
      'test/emulators/cloud/a.ts',
      'agents/a/launch.ts',
      'lambdas/shared/core/cua/keys.ts',
      'lambdas/shared/adapters/cua-client.ts',
      'lambdas/shared/adapters/png-pixels.ts',
      'lambdas/shared/adapters/scratch-folder.ts',
    );
    expect(new Set(paths.map(partOf))).toEqual(new Set(Object.keys(importTable)));
  });
});

describe('cycles and closures', () => {
  const graphOf = (sources: Record<string, string>) =>
    buildGraph(
      Object.entries(sources).map(([file, text]) => parseCode(file, text)),
      (file) => file in sources,
    );

  it('finds a cycle that only types close', () => {
    const graph = graphOf({
      'lambdas/shared/core/a.ts': `import { b } from '#core/b';`,
      'lambdas/shared/core/b.ts': `import { c } from './c.ts';`,
      'lambdas/shared/core/c.ts': `import type { A } from './a.ts'; import './d.ts';`,
      'lambdas/shared/core/d.ts': ``,
    });
    const cycle = ['a', 'b', 'c'].map((name) => `lambdas/shared/core/${name}.ts`);
    expect(findCycles(graph)).toEqual([cycle]);
    expect(closureOf(graph, 'lambdas/shared/core/c.ts').sort()).toEqual([...cycle, 'lambdas/shared/core/d.ts']);
  });

  it('sees imports in every form', () => {
    const source = `import a from './a'; export * from './b'; import('./c'); type D = import('./d').D; require('./e'); import f = require('./f');`;
    const found = importsOf(parseCode('x.ts', source));
    expect(found.map((one) => one.specifier)).toEqual(['./a', './b', './c', './d', './e', './f']);
  });

  it('knows builtins, packages, aliases and relative paths apart', () => {
    expect(resolveImport('infra/cli/a.ts', 'fs')).toEqual({ kind: 'builtin', name: 'fs' });
    expect(resolveImport('infra/cli/a.ts', '@aws-sdk/lib-dynamodb/x')).toEqual({
      kind: 'package',
      name: '@aws-sdk/lib-dynamodb',
    });
    expect(resolveImport('infra/cli/a.ts', '#core/ids', anyFile)).toEqual({
      kind: 'file',
      path: 'lambdas/shared/core/ids.ts',
    });
    expect(resolveImport('infra/cli/a.ts', '../local/b.ts', anyFile)).toEqual({
      kind: 'file',
      path: 'infra/local/b.ts',
    });
  });
});
