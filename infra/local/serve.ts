import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { DeploymentPolicy } from '#core/policy';
import type { CatalogueFolders } from '#local/catalogue';
import { REPOSITORY } from '../bundler.ts';
import { startApiServer, type ApiServerTimeouts } from './api-server.ts';
import type { ServedToken } from './api-server-guard.ts';
import { publishCatalogue, type PublishedCatalogue } from './serve-catalogue.ts';
import { openSession, type Session } from './session.ts';

export interface ServeOptions {
  /** Holds the run trees of the sweeps, each below its own folder, and our state. */
  readonly folder: string;
  readonly folders: CatalogueFolders;
  readonly tokens: readonly ServedToken[];
  /** Publishes the folders' tasks and agents. */
  readonly principalArn: string;
  /** 0, the default, for a free one. */
  readonly port?: number;
  readonly policy?: DeploymentPolicy;
  readonly timeouts?: Partial<ApiServerTimeouts>;
  readonly onLog?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly tell: (line: string) => void;
}

export interface Serving {
  readonly baseUrl: string;
  readonly catalogue: PublishedCatalogue;
  /** Closing it closes the server first. */
  readonly session: Session;
}

/**
 * Serves the API over an embedded host on this computer. It listens once the catalogue is published.
 * @throws SessionBusyError, StorageFullError, StorageReadOnlyError, and what listening throws.
 */
export async function openServing(options: ServeOptions): Promise<Serving> {
  const { folder, folders, principalArn, tell, tokens, port, timeouts, policy, onLog } = options;
  const openApi = await readFile(path.join(REPOSITORY, 'infra/openapi.json'), 'utf8');
  const session = await openSession({
    treeRoot: path.resolve(folder),
    ...(onLog === undefined ? {} : { onLog }),
    ...(policy === undefined ? {} : { policy }),
  });
  try {
    for (const attempt of session.recovery.closedAttempts)
      tell(`closed ${attempt}: its host had ended (host-restarted)`);
    const catalogue = await publishCatalogue(session, { folders, principalArn, tell });
    const server = await startApiServer({
      invoke: async (name, event) => await session.host.invoke(name, event),
      tokens,
      openApi,
      ...(port === undefined ? {} : { port }),
      ...(timeouts === undefined ? {} : { timeouts }),
      onFault: (requestId, error) => {
        const [name, message] = error instanceof Error ? [error.name, error.message] : ['Error', String(error)];
        session.host.ports.log.error('api.failed', { requestId, errorName: name, message });
      },
    });
    const close = async (): Promise<void> => {
      await server.close();
      await session.close();
    };
    return { baseUrl: server.baseUrl, catalogue, session: { ...session, close } };
  } catch (error) {
    await session.close();
    throw error;
  }
}
