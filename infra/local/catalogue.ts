import path from 'node:path';
import { REPOSITORY } from '../bundler.ts';
import type { Catalogue } from '#core/matrix';
import { listAgentIds, listTaskIds } from '#local/publish/find-folders';

export const TASKS_FOLDER = path.join(REPOSITORY, 'tasks');
export const AGENTS_FOLDER = path.join(REPOSITORY, 'agents');

/** Agents and tasks that lie in this repository. How many variants a task has is known once it is loaded; until then any will do. */
export async function localCatalogue(): Promise<Catalogue> {
  const tasks = await listTaskIds(TASKS_FOLDER);
  return {
    harnesses: await listAgentIds(AGENTS_FOLDER),
    tasks: new Map(tasks.map((task) => [task, { variantCount: Number.MAX_SAFE_INTEGER }])),
  };
}
