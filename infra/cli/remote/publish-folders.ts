import { statSync } from 'node:fs';
import path from 'node:path';
import type { Published } from '#local/publish/publish-remote';
import type { ApiClient, CallInput } from './api-client.ts';
import { RemoteError } from './remote-error.ts';

export type { Published };

/** What became of one folder: exactly one of the two is set. */
export interface PublishOne {
  readonly folder: string;
  readonly published: Published | null;
  readonly error: Error | null;
}

type Kind = 'task' | 'agent';

/** Folders of the ids or paths given; null is everything there is. @throws UnknownTaskError, UnknownAgentError */
export async function foldersToPublish(
  kind: Kind,
  wanted: readonly string[] | null,
  others: { readonly tasks: readonly string[]; readonly agents: readonly string[] },
): Promise<readonly string[]> {
  const { agentFolder, catalogueFolders, localCatalogue, taskFolder } = await import('#local/catalogue');
  const folders = await catalogueFolders(others);
  const find = async (id: string): Promise<string> =>
    kind === 'task' ? await taskFolder(folders, id) : await agentFolder(folders, id);
  const catalogue = await localCatalogue(folders);
  const names = wanted ?? (kind === 'task' ? [...catalogue.tasks.keys()] : catalogue.harnesses);
  const found: string[] = [];
  for (const name of names)
    found.push(wanted !== null && isFolderOf(kind, name) ? path.resolve(name) : await find(name));
  return [...new Set(found)];
}

function isFolderOf(kind: Kind, name: string): boolean {
  const manifest = path.join(name, kind === 'task' ? 'task_card.json' : 'agent.json');
  return statSync(manifest, { throwIfNoEntry: false })?.isFile() === true;
}

interface PublishJob {
  readonly kind: Kind;
  readonly folders: readonly string[];
  readonly client: Pick<ApiClient, 'call'>;
  readonly tell: (line: string) => void;
}

/** Publishes one after the other. A folder that is not right does not hold up the others; a host that cannot be used does. */
export async function publishFolders({ kind, folders, client, tell }: PublishJob): Promise<readonly PublishOne[]> {
  const { publishThroughApi } = await import('#local/publish/publish-remote');
  const { withCompiler } = await import('#local/publish/with-compiler');
  const api = {
    publishTask: async (body: unknown) =>
      await client.call('publishTask', { body: body as CallInput<'publishTask'>['body'] }),
    publishAgent: async (body: unknown) =>
      await client.call('publishAgent', { body: body as CallInput<'publishAgent'>['body'] }),
  };
  return await withCompiler(async (deps) => {
    const results: PublishOne[] = [];
    for (const [at, folder] of folders.entries()) {
      const place = `[${String(at + 1)}/${String(folders.length)}] ${folder}`;
      tell(`${place}: compiling`);
      const onProgress = ({
        filesLeft,
        bytesLeft,
      }: {
        readonly filesLeft: number;
        readonly bytesLeft: number;
      }): void => {
        tell(`${place}: ${String(filesLeft)} files left, ${(bytesLeft / 1024 / 1024).toFixed(1)} MiB`);
      };
      try {
        const published = await publishThroughApi(folder, api, { kind, ...deps, onProgress });
        results.push({ folder, published, error: null });
      } catch (error) {
        if (!(error instanceof Error) || (error instanceof RemoteError && error.kind !== 'request')) throw error;
        results.push({ folder, published: null, error });
      }
    }
    return results;
  });
}
