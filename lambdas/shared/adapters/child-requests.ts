import { isErrorNamed } from '#core/errors';
import type { HostFault, ServiceStart, SessionCalls } from '#ports/module-runner';
import { FolderReadError, FolderReader, MAX_READ_BYTES } from './child-folder-reader.ts';
import { isRecord } from './child-frames.ts';

/** What the host answers to one request of a child. */
export interface Answer {
  readonly header: Readonly<Record<string, unknown>>;
  readonly body?: Uint8Array;
}

/** Serves a child's reads and session calls, and remembers the first time the host itself failed. */
export class RequestDesk {
  readonly #readers: ReadonlyMap<string, FolderReader>;
  readonly #session: SessionCalls | undefined;
  readonly #startService: ServiceStart | undefined;
  #fault: HostFault | null = null;

  constructor(
    folders: Readonly<Record<string, string>>,
    session: SessionCalls | undefined,
    startService: ServiceStart | undefined,
  ) {
    this.#readers = new Map(Object.entries(folders).map(([name, folder]) => [name, new FolderReader(name, folder)]));
    this.#session = session;
    this.#startService = startService;
  }

  get fault(): HostFault | null {
    return this.#fault;
  }

  /** Never rejects. */
  async answer(request: Readonly<Record<string, unknown>>): Promise<Answer> {
    try {
      if (request['kind'] === 'read') return await this.#read(request);
      return request['kind'] === 'service' ? await this.#start(request) : await this.#call(request);
    } catch (error) {
      const name = error instanceof Error ? error.name : 'Error';
      const message = error instanceof Error ? error.message : String(error);
      const isTold = error instanceof FolderReadError || isErrorNamed(error, 'TaskSetupError');
      if (!isTold) this.#fault ??= { name, message };
      return { header: { ok: false, name, message } };
    }
  }

  async #read(request: Readonly<Record<string, unknown>>): Promise<Answer> {
    const { folder, op, path, maxBytes } = request;
    const reader = typeof folder === 'string' ? this.#readers.get(folder) : undefined;
    if (reader === undefined || typeof path !== 'string') {
      throw new FolderReadError('UnsafePathError', 'a path must be text inside one of the folders given');
    }
    switch (op) {
      case 'exists':
        return { header: { ok: true, value: await reader.exists(path) } };
      case 'sizeBytes':
        return { header: { ok: true, value: await reader.sizeBytes(path) } };
      case 'list':
        return { header: { ok: true }, body: Buffer.from(JSON.stringify(await reader.list(path)), 'utf8') };
      default: {
        const limit =
          typeof maxBytes === 'number' && maxBytes >= 0 ? Math.min(maxBytes, MAX_READ_BYTES) : MAX_READ_BYTES;
        return { header: { ok: true }, body: await reader.read(path, limit) };
      }
    }
  }

  async #call(request: Readonly<Record<string, unknown>>): Promise<Answer> {
    const { calls, timeoutSeconds } = request;
    if (this.#session === undefined || !Array.isArray(calls) || typeof timeoutSeconds !== 'number') {
      throw new FolderReadError('SessionUnavailableError', 'this phase has no session');
    }
    const batch = calls.filter(isRecord).map(({ command, params }) => ({
      command: typeof command === 'string' ? command : '',
      params: isRecord(params) ? params : {},
    }));
    const results = await this.#session(batch, timeoutSeconds);
    return { header: { ok: true }, body: Buffer.from(JSON.stringify(results), 'utf8') };
  }

  async #start({ name, input }: Readonly<Record<string, unknown>>): Promise<Answer> {
    if (this.#startService === undefined || typeof name !== 'string' || !isRecord(input)) {
      throw new FolderReadError('SessionUnavailableError', 'this phase starts no services');
    }
    const { port } = await this.#startService(name, input);
    return { header: { ok: true, port } };
  }
}
