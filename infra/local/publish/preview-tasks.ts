import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { composeModuleRunner } from '#runtime/module-runner';
import { bundle, REPOSITORY } from '../../bundler.ts';
import { readTaskSource, type TaskSource } from './task-source.ts';

const CHILD_ENTRY = path.join(REPOSITORY, 'lambdas/shared/adapters/child-entry.ts');

/** Reads, compiles and loads tasks without storing anything; each answers with what it is or why it cannot be used. */
export async function previewTasks(
  folders: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, TaskSource | Error>> {
  const cacheDir = await mkdtemp(path.join(os.tmpdir(), 'examhall-preview-'));
  try {
    const runner = composeModuleRunner((await bundle(CHILD_ENTRY, { outDir: cacheDir })).path);
    const previews = new Map<string, TaskSource | Error>();
    for (const [taskPath, folder] of folders) {
      const read = readTaskSource(folder, { runner, cacheDir });
      previews.set(taskPath, await read.catch((error: unknown) => asError(error)));
    }
    return previews;
  } finally {
    await rm(cacheDir, { recursive: true, force: true });
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
