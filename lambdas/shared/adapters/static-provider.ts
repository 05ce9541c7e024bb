import { createCuaClient, type CuaClient } from '#adapters/cua-client';
import { ExamHallError } from '#core/errors';
import { withFate } from '#core/teardown';
import type {
  ReleaseMode,
  ReleaseReport,
  Sandbox,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  TeardownResource,
} from '#ports/sandbox-provider';
import { CuaGuest } from './cua-channel-guest.ts';
import { EndpointLocks, StaticMarkers, type StaticMarker } from './static-files.ts';
import { cleanUp, furnish, refuseUnusable, unfurnish, type StaticFiles } from './static-machine.ts';

export interface StaticProviderOptions {
  /** Folder of the markers of this host. */
  readonly root: string;
  readonly files: () => Promise<StaticFiles>;
  /** Where machines are held; one place for the whole computer. */
  readonly locks?: string;
}

const PAGE = 100;

/**
 * Attaches to machines that somebody else started, by the address of their cua-server: one attempt at a time for each
 * address. Nothing is reset; only what was made here (one folder of ours) is removed again.
 */
export function createStaticProvider(options: StaticProviderOptions): SandboxProvider {
  return new StaticProvider(options);
}

class StaticProvider implements SandboxProvider {
  readonly name = 'static';
  readonly #options: StaticProviderOptions;
  readonly #markers: StaticMarkers;
  readonly #locks: EndpointLocks;
  readonly #pending = new Map<string, Promise<Sandbox>>();

  constructor(options: StaticProviderOptions) {
    this.#options = options;
    this.#markers = new StaticMarkers(options.root);
    this.#locks = new EndpointLocks(options.locks);
  }

  async acquire(spec: SandboxSpec): Promise<Sandbox> {
    const endpoint = endpointOf(spec);
    const sandboxId = StaticMarkers.idOf(spec.clientToken);
    const pending = this.#pending.get(sandboxId) ?? this.#acquire(spec, sandboxId, endpoint);
    this.#pending.set(sandboxId, pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(sandboxId);
    }
  }

  async #acquire(spec: SandboxSpec, sandboxId: string, endpoint: string): Promise<Sandbox> {
    const before = this.#markers.read(sandboxId);
    if (before?.sandbox !== null && before?.sandbox !== undefined) return before.sandbox;
    await this.#hold(endpoint, { sandboxId, attemptId: spec.attemptId });
    const { attemptId, expiresAt, knobs } = spec;
    const own = { sandboxId, attemptId, endpoint, expiresAt, knobs };
    const marker: StaticMarker = {
      version: 1,
      state: 'pending',
      ...own,
      folder: before?.folder ?? null,
      sandbox: null,
    };
    this.#markers.write(marker);
    try {
      const sandbox = await withClient(endpoint, (client) => this.#attach(client, spec, marker));
      const folder = sandbox.resources[0]?.resourceId ?? null;
      this.#markers.write({ ...marker, state: 'ready', folder, sandbox });
      return sandbox;
    } catch (error) {
      await this.release({ sandboxId, resources: [] }, 'delete').catch(() => undefined);
      throw provisionError(error, endpoint);
    }
  }

  /** @throws CapacityUnavailableError naming who has the machine. */
  async #hold(endpoint: string, own: { readonly sandboxId: string; readonly attemptId: string }): Promise<void> {
    const marker = this.#markers.fileOf(own.sandboxId);
    const holder = this.#locks.take(endpoint, { ...own, marker });
    if (holder === undefined) return;
    throw new ExamHallError(
      'CapacityUnavailableError',
      `the machine at ${endpoint} is held by attempt ${holder.attemptId} (process ${holder.pid}, ${holder.marker}). ` +
        'Wait for it; if its run was killed, start that experiment again, which releases what it left, or remove that file',
      { endpoint, holder: holder.attemptId, marker: holder.marker },
    );
  }

  async #attach(client: CuaClient, spec: SandboxSpec, marker: StaticMarker): Promise<Sandbox> {
    const { serverVersion } = await refuseUnusable(client, spec);
    const onFolder = (folder: string): void => this.#markers.write({ ...marker, folder });
    const files = await this.#options.files();
    const { folder, ...furnished } = await furnish(client, spec, { sandboxId: marker.sandboxId, files, onFolder });
    return {
      sandboxId: marker.sandboxId,
      attemptId: spec.attemptId,
      provider: this.name,
      os: 'linux',
      channel: 'cua',
      imageRevision: `${spec.image}-cua${serverVersion}`,
      ...furnished,
      agent: null,
      isolation: {
        kind: 'none',
        network: 'host',
        reason: `the machine at ${client.url} was given, not made: the agent works as the account of its cua-server, and nothing is reset between attempts`,
      },
      endpoint: client.url,
      resources: [{ kind: 'folder', resourceId: folder }],
    };
  }

  async describe({ sandboxId }: Pick<Sandbox, 'sandboxId'>): Promise<SandboxState> {
    const marker = this.#markers.read(sandboxId);
    if (marker === undefined) return { state: 'gone', evidence: null };
    if (marker.state !== 'ready') return { state: marker.state === 'pending' ? 'pending' : 'stopped' };
    const answers = await withClient(marker.endpoint, (client) => client.status()).then(
      () => true,
      () => false,
    );
    // Nobody but the machine itself could say why: that is no evidence.
    return answers ? { state: 'ready' } : { state: 'gone', evidence: null };
  }

  async release(
    { sandboxId, resources }: Pick<Sandbox, 'sandboxId' | 'resources'>,
    mode: ReleaseMode,
  ): Promise<ReleaseReport> {
    const marker = this.#markers.read(sandboxId);
    if (marker === undefined) return withFate(resources, 'gone');
    const all = mergeResources(resources, marker);
    const isDone = await withClient(marker.endpoint, (client) => this.#end(client, marker, mode));
    if (!isDone) return withFate(all, 'left');
    this.#locks.free(marker.endpoint, sandboxId);
    if (mode !== 'delete') {
      this.#markers.write({ ...marker, state: mode === 'detach' ? 'detached' : 'stopped' });
      return withFate(all, 'set-aside');
    }
    this.#markers.remove(sandboxId);
    return withFate(all, 'gone');
  }

  /** Ends our jobs, cleans up and removes our folder; false while something of the agent lives or the machine does not answer. */
  async #end(client: CuaClient, marker: StaticMarker, mode: ReleaseMode): Promise<boolean> {
    const { folder, sandbox } = marker;
    if (folder === null) return true;
    try {
      // What was left lying without a sandbox never had a job.
      if (sandbox !== null && (await client.fileExists(`${folder}/runner.mjs`))) {
        const dead = await new CuaGuest(sandbox, client).close();
        if (!dead.confirmedDead) return false;
      }
      if (marker.state !== 'stopped' && marker.state !== 'detached' && sandbox !== null)
        await cleanUp(client, marker.knobs);
      if (mode === 'delete') await unfurnish(client, folder);
      return true;
    } catch (error) {
      if (error instanceof Error && (error.name.startsWith('Cua') || error.name === 'ChannelUnavailableError'))
        return false;
      throw error;
    }
  }

  async list(cursor?: string): ReturnType<SandboxProvider['list']> {
    const ids = this.#markers.ids().filter((id) => cursor === undefined || id > cursor);
    const page = ids.slice(0, PAGE);
    const sandboxes = page.flatMap((sandboxId) => {
      const marker = this.#markers.read(sandboxId);
      if (marker === undefined || marker.state === 'detached') return [];
      const { attemptId, expiresAt, state } = marker;
      return [{ sandboxId, attemptId, expiresAt, state }];
    });
    const last = page.at(-1);
    return ids.length > PAGE && last !== undefined ? { sandboxes, cursor: last } : { sandboxes };
  }
}

/** The address as locks and records know it. @throws SandboxRefusedError naming every wish that cannot be met. */
function endpointOf(spec: SandboxSpec): string {
  const text = spec.knobs['endpoint'];
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:');
  const wishes = [
    ...(isHttp ? [] : [`endpoint ${JSON.stringify(text)} (allowed: http://host:port)`]),
    ...(spec.os === 'linux' ? [] : [`os ${spec.os} (allowed: linux)`]),
    ...(spec.network === 'open' ? [] : [`network ${spec.network} (allowed: open; the machine's network is as it is)`]),
  ];
  if (url !== undefined && wishes.length === 0) return `${url.origin}${url.pathname.replace(/\/$/, '')}`;
  const message = `snapshot ${JSON.stringify(spec.snapshot)}: provider static cannot give ${wishes.join('; ')}. Change the request`;
  throw new ExamHallError('SandboxRefusedError', message, { provider: 'static', snapshot: spec.snapshot, wishes });
}

async function withClient<T>(endpoint: string, work: (client: CuaClient) => Promise<T>): Promise<T> {
  const client = createCuaClient({ url: endpoint });
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

function provisionError(error: unknown, endpoint: string): unknown {
  if (!(error instanceof Error) || !error.name.startsWith('Cua')) return error;
  const message = `the machine at ${endpoint} could not be attached: ${error.message}`;
  return new ExamHallError('ProvisionFailedError', message, { endpoint }, error);
}

function mergeResources(asked: readonly TeardownResource[], { folder }: StaticMarker): TeardownResource[] {
  const isKnown = folder === null || asked.some((each) => each.kind === 'folder' && each.resourceId === folder);
  return isKnown ? [...asked] : [...asked, { kind: 'folder', resourceId: folder }];
}
