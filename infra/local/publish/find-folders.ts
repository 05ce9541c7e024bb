import { access, readdir } from 'node:fs/promises';
import path from 'node:path';
import { TaskIdSchema } from '#core/catalog';
import { ExamHallError, type ErrorName } from '#core/errors';
import { closestName, quoteList } from '#core/located';

const MOST_NAMES_SHOWN = 20;

/** Ids of the tasks below a tasks folder: `<domain>/<task>` with a card. */
export async function listTaskIds(tasksFolder: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const domain of await subfolders(tasksFolder)) {
    for (const task of await subfolders(path.join(tasksFolder, domain))) {
      const id = `${domain}/${task}`;
      if (TaskIdSchema.safeParse(id).success && (await isThere(path.join(tasksFolder, id, 'task_card.json')))) {
        ids.push(id);
      }
    }
  }
  return ids.sort();
}

/** Ids of the agents below an agents folder: subfolders with an `agent.json`. */
export async function listAgentIds(agentsFolder: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const id of await subfolders(agentsFolder)) {
    if (await isThere(path.join(agentsFolder, id, 'agent.json'))) ids.push(id);
  }
  return ids.sort();
}

/** Folder of a task. @throws UnknownTaskError with near names. */
export async function findTaskFolder(tasksFolder: string, taskId: string): Promise<string> {
  const ids = await listTaskIds(tasksFolder);
  if (ids.includes(taskId)) return path.join(tasksFolder, ...taskId.split('/'));
  throw unknown('UnknownTaskError', 'task', taskId, { ids, folder: tasksFolder });
}

/** Folder of an agent. @throws UnknownAgentError with near names. */
export async function findAgentFolder(agentsFolder: string, agentId: string): Promise<string> {
  const ids = await listAgentIds(agentsFolder);
  if (ids.includes(agentId)) return path.join(agentsFolder, agentId);
  throw unknown('UnknownAgentError', 'agent', agentId, { ids, folder: agentsFolder });
}

function unknown(
  name: ErrorName,
  noun: string,
  id: string,
  { ids, folder }: { readonly ids: readonly string[]; readonly folder: string },
): ExamHallError {
  const near = closestName(id, ids) ?? closestByPart(id, ids);
  const suggestion = near === null ? '' : ` (did you mean "${near}"?)`;
  const more = ids.length > MOST_NAMES_SHOWN ? ` and ${ids.length - MOST_NAMES_SHOWN} more` : '';
  const allowed = `allowed: ${quoteList(ids.slice(0, MOST_NAMES_SHOWN))}${more}`;
  return new ExamHallError(name, `${folder} has no ${noun} "${id}"${suggestion}; ${allowed}`, { id, near });
}

/** A right task name under a wrong domain. */
function closestByPart(id: string, ids: readonly string[]): string | null {
  const lastPart = (text: string): string => text.split('/').at(-1) ?? text;
  const near = closestName(lastPart(id), ids.map(lastPart));
  return near === null ? null : (ids.find((candidate) => lastPart(candidate) === near) ?? null);
}

async function subfolders(folder: string): Promise<readonly string[]> {
  try {
    const items = await readdir(folder, { withFileTypes: true });
    return items.filter((item) => item.isDirectory() && !/^[._]/.test(item.name)).map((item) => item.name);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
