import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as esbuild from 'esbuild';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { bundleFunctions } from '../../infra/bundler-functions.ts';

vi.mock('esbuild', { spy: true });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-one-build-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

it('all functions are bundled by one build, with an entry for each and one for child processes', async () => {
  const bundles = await bundleFunctions(folder);
  expect(bundles.size).toBe(FUNCTIONS.length);
  expect(vi.mocked(esbuild.build)).toHaveBeenCalledTimes(1);
  for (const other of [esbuild.buildSync, esbuild.context, esbuild.transform, esbuild.transformSync]) {
    expect(vi.mocked(other)).not.toHaveBeenCalled();
  }
  const { entryPoints } = vi.mocked(esbuild.build).mock.calls[0]?.[0] ?? {};
  const outs = (Array.isArray(entryPoints) ? entryPoints : []).map((entry) =>
    typeof entry === 'string' ? entry : entry.out,
  );
  expect(outs.toSorted()).toEqual([...FUNCTIONS.map(({ name }) => `${name}/index`), 'child-entry'].toSorted());
}, 120_000);
