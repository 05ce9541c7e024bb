import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { build, type BuildOptions } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { bundleFunctions } from '../../infra/bundler-functions.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-one-build-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

it('all functions are bundled by one build, with an entry for each and one for child processes', async () => {
  const asked: BuildOptions[] = [];
  const counted: typeof build = async (options) => {
    asked.push(options);
    return await build(options);
  };
  const bundles = await bundleFunctions(folder, counted);
  expect(bundles.size).toBe(FUNCTIONS.length);
  expect(asked).toHaveLength(1);
  const entries = asked[0]?.entryPoints;
  const outs = (Array.isArray(entries) ? entries : []).map((entry) => (typeof entry === 'string' ? entry : entry.out));
  expect(outs.toSorted()).toEqual([...FUNCTIONS.map(({ name }) => `${name}/index`), 'child-entry'].toSorted());
}, 120_000);
