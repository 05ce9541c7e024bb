import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { composeModuleRunner } from '#runtime/module-runner';
import { bundle, REPOSITORY } from '../../bundler.ts';
import type { TaskSourceDeps } from './task-source.ts';

const CHILD_ENTRY = path.join(REPOSITORY, 'lambdas/shared/adapters/child-entry.ts');

/** Gives what compiling tasks and agents needs, with a folder for bundles that is removed afterwards. */
export async function withCompiler<Result>(work: (deps: TaskSourceDeps) => Promise<Result>): Promise<Result> {
  const cacheDir = await mkdtemp(path.join(os.tmpdir(), 'examhall-compile-'));
  try {
    return await work({
      cacheDir,
      runner: composeModuleRunner((await bundle(CHILD_ENTRY, { outDir: cacheDir })).path),
    });
  } finally {
    await rm(cacheDir, { recursive: true, force: true });
  }
}
