import type { CuaClient } from '#adapters/cua-client';
import { ExamHallError, isErrorNamed } from '#core/errors';
import { withFate } from '#core/teardown';
import type {
  ReleaseMode,
  ReleaseReport,
  Sandbox,
  SandboxOffer,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  SandboxWish,
  TeardownResource,
} from '#ports/sandbox-provider';
import { CuaGuest } from './cua-channel-guest.ts';
import { attachmentIdOf, type StaticAttachment, type StaticAttachments } from './static-attachments.ts';
import { cleanUp, furnish, refuseUnusable, unfurnish, type StaticFiles } from './static-machine.ts';
import { endpointOf, refusalOf, refuseWishes } from './static-wish.ts';

export interface StaticProviderOptions {
  readonly attachments: StaticAttachments;
  readonly files: () => Promise<StaticFiles>;
  readonly connect: (endpoint: string) => CuaClient;
  /**
   * `address:port` of all machines that may be attached. With it wishes are judged before anything starts, and each machine is
   * offered to one attempt at a time; absent where only the machine itself tells.
   */
  readonly listed?: readonly string[];
}

/**
 * Attaches to machines that somebody else started, by the address of their cua-server: one attempt at a time for each
 * address. Nothing is reset; only what was made here (one folder of ours) is removed again.
 */
export function createStaticProvider(options: StaticProviderOptions): SandboxProvider {
  return new StaticProvider(options);
}

class StaticProvider implements SandboxProvider {
  readonly name = 'static';
  readonly refusal?: (wish: SandboxWish) => string | null;
  readonly offer?: (wish: SandboxWish) => SandboxOffer | null;
  readonly #options: StaticProviderOptions;
  readonly #attachments: StaticAttachments;
  readonly #pending = new Map<string, Promise<Sandbox>>();

  constructor(options: StaticProviderOptions) {
    this.#options = options;
    this.#attachments = options.attachments;
    const { listed } = options;
    if (listed === undefined) return;
    this.refusal = (wish) => refusalOf(wish, listed);
    this.offer = (wish) => offerOf(wish, listed);
  }

  async acquire(spec: SandboxSpec): Promise<Sandbox> {
    refuseWishes(spec, this.#options.listed);
    const endpoint = endpointOf(spec);
    const sandboxId = attachmentIdOf(spec.clientToken);
    const pending = this.#pending.get(sandboxId) ?? this.#acquire(spec, sandboxId, endpoint);
    this.#pending.set(sandboxId, pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(sandboxId);
    }
  }

  async #acquire(spec: SandboxSpec, sandboxId: string, endpoint: string): Promise<Sandbox> {
    const { attemptId, expiresAt, knobs } = spec;
    const own = { sandboxId, attemptId, endpoint, expiresAt, knobs, folder: null, sandbox: null };
    const before = await this.#attachments.read(sandboxId);
    const attachment = before?.sandbox ? before : await this.#hold({ state: 'pending', ...own });
    if (attachment.sandbox !== null) return attachment.sandbox;
    try {
      const sandbox = await this.#with(endpoint, (client) => this.#attach(client, spec, attachment));
      await this.#note({ ...attachment, state: 'ready', folder: folderOf(sandbox), sandbox });
      return sandbox;
    } catch (error) {
      const byAnother = await this.#giveUp(attachment);
      if (byAnother !== null) return byAnother;
      throw provisionError(error, endpoint);
    }
  }

  /** @throws CapacityUnavailableError naming who has the machine. */
  async #hold(wanted: StaticAttachment): Promise<StaticAttachment> {
    const answer = await this.#attachments.hold(wanted);
    if (answer.kind === 'held') return answer.attachment;
    const { endpoint } = wanted;
    const { attemptId, where, remedy } = answer.holder;
    const message = `the machine at ${endpoint} is held by attempt ${attemptId} (${where}). ${remedy}`;
    throw new ExamHallError('CapacityUnavailableError', message, { endpoint, holder: attemptId, where });
  }

  /** @throws ProvisionFailedError when the attachment was released meanwhile. */
  async #note(attachment: StaticAttachment): Promise<void> {
    if (await this.#attachments.update(attachment)) return;
    const { attemptId, endpoint, folder } = attachment;
    // Nobody else would find what was made after the release.
    if (folder !== null) await this.#with(endpoint, (client) => unfurnish(client, folder)).catch(() => undefined);
    const message = `attempt ${attemptId} was released while the machine at ${endpoint} was being attached`;
    throw new ExamHallError('ProvisionFailedError', message, { endpoint });
  }

  /** Undoes what was not finished. @returns the sandbox of another call with the same token, which has finished it. */
  async #giveUp(attachment: StaticAttachment): Promise<Sandbox | null> {
    const { sandboxId } = attachment;
    const found = await this.#attachments.read(sandboxId);
    if (found?.sandbox) return found.sandbox;
    await this.release({ sandboxId, resources: [] }, 'delete').catch(() => undefined);
    return null;
  }

  async #attach(client: CuaClient, spec: SandboxSpec, attachment: StaticAttachment): Promise<Sandbox> {
    const { sandboxId } = attachment;
    const { serverVersion } = await refuseUnusable(client, spec);
    const onFolder = (folder: string): Promise<void> => this.#note({ ...attachment, folder });
    const files = await this.#options.files();
    const { folder, ...furnished } = await furnish(client, spec, { sandboxId, files, onFolder });
    return {
      sandboxId,
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
    const attachment = await this.#attachments.read(sandboxId);
    if (attachment === undefined) return { state: 'gone', evidence: null };
    if (attachment.state !== 'ready') return { state: attachment.state === 'pending' ? 'pending' : 'stopped' };
    const answers = await this.#with(attachment.endpoint, (client) => client.status()).then(
      () => true,
      (error: unknown) => {
        // Only silence of the machine itself says something of it.
        if (isOfServer(error)) return false;
        throw error;
      },
    );
    // Nobody but the machine itself could say why: that is no evidence.
    return answers ? { state: 'ready' } : { state: 'gone', evidence: null };
  }

  async release(
    { sandboxId, resources }: Pick<Sandbox, 'sandboxId' | 'resources'>,
    mode: ReleaseMode,
  ): Promise<ReleaseReport> {
    const attachment = await this.#attachments.read(sandboxId);
    if (attachment === undefined) return withFate(resources, 'gone');
    const all = mergeResources(resources, attachment);
    const isDone = await this.#with(attachment.endpoint, (client) => this.#end(client, attachment, mode));
    if (!isDone) return withFate(all, 'left');
    if (mode !== 'delete') {
      await this.#attachments.free(attachment, { ...attachment, state: mode === 'detach' ? 'detached' : 'stopped' });
      return withFate(all, 'set-aside');
    }
    await this.#attachments.free(attachment, null);
    return withFate(all, 'gone');
  }

  /** Ends our jobs, cleans up and removes our folder; false while something of the agent lives or the machine does not answer. */
  async #end(client: CuaClient, attachment: StaticAttachment, mode: ReleaseMode): Promise<boolean> {
    const { folder, sandbox, state } = attachment;
    if (folder === null) return true;
    try {
      // What was left lying without a sandbox never had a job.
      if (sandbox !== null && (await client.fileExists(`${folder}/runner.mjs`))) {
        const dead = await new CuaGuest(sandbox, client).close();
        if (!dead.confirmedDead) return false;
      }
      if (state !== 'stopped' && state !== 'detached' && sandbox !== null) await cleanUp(client, attachment.knobs);
      if (mode === 'delete') await unfurnish(client, folder);
      return true;
    } catch (error) {
      if (isOfServer(error) || isErrorNamed(error, 'ChannelUnavailableError')) return false;
      throw error;
    }
  }

  async list(cursor?: string): ReturnType<SandboxProvider['list']> {
    const { attachments, next } = await this.#attachments.list(cursor);
    const sandboxes = attachments.flatMap(({ sandboxId, attemptId, expiresAt, state }) =>
      state === 'detached' ? [] : [{ sandboxId, attemptId, expiresAt, state }],
    );
    return next === undefined ? { sandboxes } : { sandboxes, cursor: next };
  }

  async #with<T>(endpoint: string, work: (client: CuaClient) => Promise<T>): Promise<T> {
    const client = this.#options.connect(endpoint);
    try {
      return await work(client);
    } finally {
      client.close();
    }
  }
}

const folderOf = ({ resources }: Pick<Sandbox, 'resources'>): string | null => resources[0]?.resourceId ?? null;

/** One attempt at a time has a machine: it is the seat that its units wait for. */
function offerOf(wish: SandboxWish, listed: readonly string[]): SandboxOffer | null {
  if (refusalOf(wish, listed) !== null) return null;
  return { machines: [], vCpus: wish.vCpus, seats: 1, seatOf: endpointOf(wish) };
}

function isOfServer(error: unknown): boolean {
  return error instanceof Error && error.name.startsWith('Cua');
}

function provisionError(error: unknown, endpoint: string): unknown {
  if (!(error instanceof Error) || !(isOfServer(error) || isErrorNamed(error, 'ChannelUnavailableError'))) return error;
  const message = `the machine at ${endpoint} could not be attached: ${error.message}`;
  return new ExamHallError('ProvisionFailedError', message, { endpoint }, error);
}

function mergeResources(asked: readonly TeardownResource[], { folder }: StaticAttachment): TeardownResource[] {
  const isKnown = folder === null || asked.some((each) => each.kind === 'folder' && each.resourceId === folder);
  return isKnown ? [...asked] : [...asked, { kind: 'folder', resourceId: folder }];
}
