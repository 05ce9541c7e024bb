import { solutionsKey, taskManifestKey, type PublishedTask } from '#core/catalog';
import type { ArtifactStore } from '#ports/artifact-store';
import { compileTask, type CompiledTask } from './compile-task.ts';
import type { TaskSourceDeps } from './task-source.ts';
import { putManifest, uploadAll } from './uploads.ts';

export interface PublishTaskDeps extends TaskSourceDeps {
  readonly store: ArtifactStore;
}

/** Compiles, loads and stores a task; see `storeTask`. */
export async function publishTask(folder: string, deps: PublishTaskDeps): Promise<PublishedTask> {
  return await storeTask(await compileTask(folder, deps), deps.store);
}

/**
 * Stores a compiled task: what an agent may see into bucket `tasks`, solutions beside it below `solutions/`, references into
 * `references`, each under its revision. Manifests go last, so a broken publish is no publish; publishing the same folder
 * again uploads nothing and returns the same.
 */
export async function storeTask(compiled: CompiledTask, store: ArtifactStore): Promise<PublishedTask> {
  const { task, references, solutions, uploads } = compiled;
  await uploadAll(store, uploads);
  await putManifest(store, 'references', taskManifestKey(task), references);
  await putManifest(store, 'tasks', solutionsKey(task), solutions);
  await putManifest(store, 'tasks', taskManifestKey(task), task);
  return task;
}
