import path from 'node:path';

/** What `--tasks-dir` and `--agents-dir` were given. */
export interface FolderOptions {
  readonly tasksDir: readonly string[];
  readonly agentsDir: readonly string[];
}

export const TASKS_DIR_HELP =
  "folder of tasks (<domain>/<task>), searched before this repository's; may be given again";
export const AGENTS_DIR_HELP = "folder of agents, searched before this repository's; may be given again";

/** Gathers an option that may be given again. */
export function collectFolder(value: string, before: readonly string[]): readonly string[] {
  return [...before, path.resolve(value)];
}

export function foldersOf({ tasksDir, agentsDir }: FolderOptions): {
  readonly tasks: readonly string[];
  readonly agents: readonly string[];
} {
  return { tasks: tasksDir, agents: agentsDir };
}
