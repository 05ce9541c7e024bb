import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ExamHallError } from '#core/errors';
import { withFate } from '#core/teardown';
import type { Clock } from '#ports/clock';
import type {
  ReleaseMode,
  ReleaseReport,
  Sandbox,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  SandboxSummary,
  SandboxWish,
  TeardownResource,
} from '#ports/sandbox-provider';
import { AgentAccounts } from './agent-accounts.ts';
import { loadGuestRunner } from './guest-bundle.ts';
import { removeFolder, unmountBelow } from './remove-folder.ts';
import { storageError } from '#core/storage-error';
import { makeFolder } from '../stores/make-folder.ts';
import { SandboxFolder, type SandboxMarker } from './sandbox-folder.ts';
import { refuseAny, refusalText } from './sandbox-spec-check.ts';
import type { SandboxPlace, WallOptions, Walls } from './walls.ts';

export interface FolderProviderOptions extends WallOptions {
  readonly clock: Clock;
  /** Where uids are held; one place for the whole computer. */
  readonly accountLocks?: string;
}

/** What one provider of this computer does its own way. */
export interface SandboxKind {
  readonly name: string;
  /** SandboxRefusedError of a computer that has none of it; null where it is set up. */
  lacks(): ExamHallError | null;
  /** Every wish that cannot be met. */
  wishes(wish: SandboxWish): readonly string[];
  /** Asked once. */
  findWalls(): Promise<Walls>;
  /** Makes of a place with its folders the sandbox; when it throws, everything of the place is ended and removed. */
  finish(place: SandboxPlace): Promise<Omit<Sandbox, 'resources'>>;
  /** Takes away what lies outside the folder, once everything of the sandbox has ended. */
  clear(folder: SandboxFolder): Promise<void>;
}

const PAGE = 100;

/**
 * Sandboxes that are a folder and child processes of this computer. Everything a sandbox is lies in its folder, so that a
 * new process finds and ends what an earlier one left.
 */
export class FolderProvider implements SandboxProvider {
  readonly name: string;
  readonly #kind: SandboxKind;
  readonly #options: FolderProviderOptions;
  readonly #accounts: AgentAccounts;
  readonly #pending = new Map<string, Promise<Sandbox>>();
  #walls: Promise<Walls> | undefined;

  constructor(kind: SandboxKind, options: FolderProviderOptions) {
    this.name = kind.name;
    this.#kind = kind;
    this.#options = { ...options, root: path.resolve(options.root) };
    this.#accounts = new AgentAccounts(options.accountLocks);
  }

  async acquire(spec: SandboxSpec): Promise<Sandbox> {
    const lack = this.#kind.lacks();
    if (lack !== null) throw lack;
    refuseAny(spec, this.#kind.wishes(spec));
    const sandboxId = SandboxFolder.idOf(spec);
    const pending =
      this.#pending.get(sandboxId) ?? this.#acquire(spec, sandboxId).catch(refuseStorage(this.#options.root));
    this.#pending.set(sandboxId, pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(sandboxId);
    }
  }

  refusal(wish: SandboxWish): string | null {
    return this.#kind.lacks()?.message ?? refusalText(this.name, wish, this.#kind.wishes(wish));
  }

  async #acquire(spec: SandboxSpec, sandboxId: string): Promise<Sandbox> {
    const folder = new SandboxFolder(this.#options.root, sandboxId);
    const before = folder.marker();
    if (before?.sandbox !== null && before?.sandbox !== undefined) return before.sandbox;
    makeRoot(this.#options.root);
    this.#walls ??= this.#kind.findWalls();
    const walls = await this.#walls;
    const marker: SandboxMarker = {
      version: 1,
      state: 'pending',
      clientToken: spec.clientToken,
      attemptId: spec.attemptId,
      expiresAt: spec.expiresAt,
      createdAt: before?.createdAt ?? this.#options.clock.now().toISOString(),
      tags: spec.tags,
      uid: null,
      sandbox: null,
    };
    folder.writeMarker(marker);
    const uid = walls.kind === 'namespaces' ? this.#accounts.claim({ sandboxId, folder: folder.path }) : null;
    folder.make(uid);
    const finished = await this.#finish({ spec, folder, walls, uid });
    const sandbox = { ...finished, resources: resourcesOf(folder, uid) };
    folder.writeMarker({ ...marker, state: 'ready', uid, sandbox });
    return sandbox;
  }

  async #finish(place: SandboxPlace): Promise<Omit<Sandbox, 'resources'>> {
    try {
      return await this.#kind.finish(place);
    } catch (error) {
      // What cannot be removed now is still listed; why it was to be removed matters more.
      await this.release({ sandboxId: place.folder.sandboxId, resources: [] }, 'delete').catch(() => undefined);
      throw error;
    }
  }

  async describe(sandbox: Pick<Sandbox, 'sandboxId'>): Promise<SandboxState> {
    const folder = this.#folderOf(sandbox.sandboxId);
    if (folder?.exists() !== true) return { state: 'gone', evidence: null };
    return { state: stateOf(folder.marker()) };
  }

  async release(sandbox: Pick<Sandbox, 'sandboxId' | 'resources'>, mode: ReleaseMode): Promise<ReleaseReport> {
    const folder = this.#folderOf(sandbox.sandboxId);
    if (folder === undefined) return withFate(sandbox.resources, 'gone');
    const marker = folder.marker();
    const lock = { sandboxId: folder.sandboxId, folder: folder.path };
    const uid = marker?.uid ?? this.#accounts.heldBy(lock.sandboxId, lock.folder) ?? null;
    const resources = mergeResources(sandbox.resources, resourcesOf(folder, uid));
    const runner = await loadGuestRunner(this.#options.guestRunner);
    const dead = await runner.close(folder.jobs, uid);
    if (!dead.confirmedDead) return withFate(resources, 'left');
    await this.#kind.clear(folder);
    await unmountBelow(folder.path);
    if (mode !== 'delete' && marker !== undefined) {
      folder.writeMarker({ ...marker, state: mode === 'detach' ? 'detached' : 'stopped' });
      return withFate(resources, 'set-aside');
    }
    await removeFolder(folder.path);
    if (folder.exists()) return withFate(resources, 'left');
    if (uid !== null) this.#accounts.free(uid, lock);
    return withFate(resources, 'gone');
  }

  async list(cursor?: string): ReturnType<SandboxProvider['list']> {
    const ids = sandboxIdsIn(this.#options.root).filter((id) => cursor === undefined || id > cursor);
    const page = ids.slice(0, PAGE);
    const sandboxes = page.flatMap((id) => this.#summaryOf(id) ?? []);
    const last = page.at(-1);
    return ids.length > PAGE && last !== undefined ? { sandboxes, cursor: last } : { sandboxes };
  }

  #summaryOf(sandboxId: string): SandboxSummary | undefined {
    const folder = new SandboxFolder(this.#options.root, sandboxId);
    const marker = folder.marker();
    if (marker?.state === 'detached') return undefined;
    const attemptId = marker?.attemptId ?? '';
    // Without a marker its maker died at once: it has no time left.
    const expiresAt = marker?.expiresAt ?? new Date(0).toISOString();
    return { sandboxId, attemptId, expiresAt, state: stateOf(marker) };
  }

  /** Undefined for an id that is none of ours. */
  #folderOf(sandboxId: string): SandboxFolder | undefined {
    return SandboxFolder.isId(sandboxId) ? new SandboxFolder(this.#options.root, sandboxId) : undefined;
  }
}

function resourcesOf(folder: SandboxFolder, uid: number | null): TeardownResource[] {
  const resources: TeardownResource[] = [{ kind: 'folder', resourceId: folder.path }];
  if (uid !== null) resources.push({ kind: 'account', resourceId: `uid:${uid}` });
  return resources;
}

function mergeResources(asked: readonly TeardownResource[], known: readonly TeardownResource[]): TeardownResource[] {
  const all = new Map([...asked, ...known].map((resource) => [`${resource.kind} ${resource.resourceId}`, resource]));
  return [...all.values()];
}

function stateOf(marker: SandboxMarker | undefined): 'pending' | 'ready' | 'stopped' {
  if (marker === undefined || marker.state === 'pending') return 'pending';
  return marker.state === 'ready' ? 'ready' : 'stopped';
}

function makeRoot(root: string): void {
  if (existsSync(root)) return;
  makeFolder(root);
  chmodSync(root, 0o700);
}

/** Says of a disk that is full or closed what to do about it. */
function refuseStorage(root: string): (error: unknown) => never {
  return (error) => {
    throw (error as NodeJS.ErrnoException).code === undefined ? error : storageError(error, root);
  };
}

/** @throws ExamHallError when the folder is there and cannot be read: then nobody knows what is left. */
function sandboxIdsIn(root: string): string[] {
  try {
    if (!statSync(root).isDirectory()) return [];
    return readdirSync(root)
      .filter((name) => SandboxFolder.isId(name))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new ExamHallError('StoreUnavailableError', `the folder of sandboxes ${root} cannot be read`, { root }, error);
  }
}
