import { stat } from 'node:fs/promises';
import path from 'node:path';
import { REPOSITORY } from '../bundler.ts';
import { ExamHallError } from '#core/errors';
import type { Catalogue } from '#core/matrix';
import { findAgentFolder, findTaskFolder, listAgentIds, listTaskIds } from '#local/publish/find-folders';

export const TASKS_FOLDER = path.join(REPOSITORY, 'tasks');
export const AGENTS_FOLDER = path.join(REPOSITORY, 'agents');

/** Where tasks and agents lie, first found first taken; this repository's own folders come last. */
export interface CatalogueFolders {
  readonly tasks: readonly string[];
  readonly agents: readonly string[];
}

/** This repository's folders behind others. @throws InvalidRequestError for one that is no folder. */
export async function catalogueFolders(others: CatalogueFolders): Promise<CatalogueFolders> {
  for (const folder of [...others.tasks, ...others.agents]) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() === true) continue;
    const seen = found === undefined ? 'does not exist' : 'is not a folder';
    throw new ExamHallError(
      'InvalidRequestError',
      `${folder} ${seen}; give a folder of tasks (<domain>/<task>) or of agents`,
    );
  }
  return { tasks: [...others.tasks, TASKS_FOLDER], agents: [...others.agents, AGENTS_FOLDER] };
}

/** Agents and tasks of the folders. How many variants a task has is known once it is loaded; until then any will do. */
export async function localCatalogue(folders: CatalogueFolders): Promise<Catalogue> {
  const tasks = await Promise.all(folders.tasks.map(listTaskIds));
  const agents = await Promise.all(folders.agents.map(listAgentIds));
  return {
    harnesses: [...new Set(agents.flat())].sort(),
    tasks: new Map([...new Set(tasks.flat())].sort().map((task) => [task, { variantCount: Number.MAX_SAFE_INTEGER }])),
  };
}

/** Folder of a task, in the first of the folders that has it. @throws UnknownTaskError. */
export async function taskFolder({ tasks }: CatalogueFolders, taskId: string): Promise<string> {
  return await findTaskFolder(await firstWith(tasks, taskId, listTaskIds), taskId);
}

/** Folder of an agent, in the first of the folders that has it. @throws UnknownAgentError. */
export async function agentFolder({ agents }: CatalogueFolders, agentId: string): Promise<string> {
  return await findAgentFolder(await firstWith(agents, agentId, listAgentIds), agentId);
}

/** The last one answers for all when none has it. */
async function firstWith(
  folders: readonly string[],
  id: string,
  list: (folder: string) => Promise<readonly string[]>,
): Promise<string> {
  for (const folder of folders) if ((await list(folder)).includes(id)) return folder;
  return folders.at(-1) ?? '';
}
