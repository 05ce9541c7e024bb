import { readTaskSource, type TaskSource } from './task-source.ts';
import { withCompiler } from './with-compiler.ts';

/** Reads, compiles and loads tasks without storing anything; each answers with what it is or why it cannot be used. */
export async function previewTasks(
  folders: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, TaskSource | Error>> {
  return await withCompiler(async (deps) => {
    const previews = new Map<string, TaskSource | Error>();
    for (const [taskPath, folder] of folders) {
      previews.set(taskPath, await readTaskSource(folder, deps).catch((error: unknown) => asError(error)));
    }
    return previews;
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
