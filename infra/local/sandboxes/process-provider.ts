import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { GuestAccount, GuestIsolation, GuestRunner, StopReport } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { Clock } from '#ports/clock';
import type {
  IsolationReport,
  ReleaseMode,
  ReleaseReport,
  Sandbox,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  SandboxSummary,
  TeardownResource,
} from '#ports/sandbox-provider';
import { AgentAccounts, probeUid } from './agent-accounts.ts';
import { loadGuestRunner } from './guest-bundle.ts';
import { removeFolder, unmountBelow } from './remove-folder.ts';
import { makeFolder, storageError } from '../stores/storage-error.ts';
import { SandboxFolder, type SandboxMarker } from './sandbox-folder.ts';
import { checkProcessSpec } from './sandbox-spec-check.ts';
import { findExposed, GUEST_NODE, visibleHostMounts } from './visible-host.ts';

export interface ProcessProviderOptions {
  /** Folder of all sandboxes of this host. */
  readonly root: string;
  /** Path of the bundled guest runner. */
  readonly guestRunner: string;
  readonly clock: Clock;
  /** Host paths no agent may see, besides `root`; by default this repository and the home folder. */
  readonly hidden?: readonly string[];
  /** Where uids are held; one place for the whole computer. */
  readonly accountLocks?: string;
  /** When given, no walls are tried and the record says this. */
  readonly withoutWalls?: string;
}

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

/** Paths inside, as upstream's machines have them. */
const GUEST = { data: '/media/user/data/agenthle', home: '/home/user', work: '/home/user/.ale' } as const;
const PAGE = 100;

/** How agents are walled in on this computer: by namespaces, or not at all and why. */
type Walls = { readonly kind: 'namespaces' } | { readonly kind: 'none'; readonly reason: string };

/**
 * Sandboxes that are child processes of this computer. As root on Linux each agent is a user of its own in a mount and PID
 * namespace that shows programs, its own folders and nothing else; otherwise it runs as whoever runs us and the isolation
 * report says `none`. The network is the host's in either case.
 */
export function createProcessProvider(options: ProcessProviderOptions): SandboxProvider {
  return new ProcessProvider(options);
}

class ProcessProvider implements SandboxProvider {
  readonly name = 'process';
  readonly #options: ProcessProviderOptions;
  readonly #accounts: AgentAccounts;
  readonly #pending = new Map<string, Promise<Sandbox>>();
  #walls: Promise<Walls> | undefined;

  constructor(options: ProcessProviderOptions) {
    this.#options = { ...options, root: path.resolve(options.root) };
    this.#accounts = new AgentAccounts(options.accountLocks);
  }

  async acquire(spec: SandboxSpec): Promise<Sandbox> {
    checkProcessSpec(spec);
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

  async #acquire(spec: SandboxSpec, sandboxId: string): Promise<Sandbox> {
    const folder = new SandboxFolder(this.#options.root, sandboxId);
    const before = folder.marker();
    if (before?.sandbox !== null && before?.sandbox !== undefined) return before.sandbox;
    makeRoot(this.#options.root);
    const walls = await this.#findWalls();
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
    const sandbox = describeSandbox(spec, folder, walls, uid);
    folder.writeMarker({ ...marker, state: 'ready', uid, sandbox });
    return sandbox;
  }

  async describe(sandbox: Pick<Sandbox, 'sandboxId'>): Promise<SandboxState> {
    const folder = this.#folderOf(sandbox.sandboxId);
    if (folder?.exists() !== true) return { state: 'gone', evidence: null };
    return { state: stateOf(folder.marker()) };
  }

  async release(sandbox: Pick<Sandbox, 'sandboxId' | 'resources'>, mode: ReleaseMode): Promise<ReleaseReport> {
    const folder = this.#folderOf(sandbox.sandboxId);
    if (folder === undefined) return { gone: sandbox.resources, left: [] };
    const marker = folder.marker();
    const lock = { sandboxId: folder.sandboxId, folder: folder.path };
    const uid = marker?.uid ?? this.#accounts.heldBy(lock.sandboxId, lock.folder) ?? null;
    const resources = mergeResources(sandbox.resources, resourcesOf(folder, uid));
    const dead = await this.#endEverything(folder, uid);
    if (!dead.confirmedDead) return { gone: [], left: resources };
    if (mode !== 'delete') {
      if (marker !== undefined) folder.writeMarker({ ...marker, state: mode === 'detach' ? 'detached' : 'stopped' });
      return { gone: [], left: [] };
    }
    await unmountBelow(folder.path);
    await removeFolder(folder.path);
    if (folder.exists()) return { gone: [], left: resources };
    if (uid !== null) this.#accounts.free(uid, lock);
    return { gone: resources, left: [] };
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

  async #endEverything(folder: SandboxFolder, uid: number | null): Promise<StopReport> {
    const runner = await this.#runner();
    return runner.close(folder.jobs, uid);
  }

  #runner(): Promise<GuestRunner> {
    return loadGuestRunner(this.#options.guestRunner);
  }

  /** Tries the walls once, with a command that really runs behind them. */
  #findWalls(): Promise<Walls> {
    this.#walls ??= this.#tryWalls();
    return this.#walls;
  }

  async #tryWalls(): Promise<Walls> {
    const { withoutWalls, root, hidden = [REPOSITORY, os.homedir()] } = this.#options;
    if (withoutWalls !== undefined) return { kind: 'none', reason: withoutWalls };
    if (process.platform !== 'linux')
      return { kind: 'none', reason: `namespaces need Linux; this is ${process.platform}` };
    if (process.getuid?.() !== 0) return { kind: 'none', reason: 'namespaces need root' };
    const mounts = visibleHostMounts();
    const exposed = findExposed(mounts, [root, ...hidden]);
    if (exposed !== null) return { kind: 'none', reason: exposed };
    const uid = probeUid();
    const account: GuestAccount = { name: 'user', uid, gid: uid, home: '/' };
    const runner = await this.#runner();
    const trouble = await runner.probe(account, { kind: 'namespaces', mounts, hostname: 'probe' });
    return trouble === null ? { kind: 'namespaces' } : { kind: 'none', reason: trouble };
  }
}

function describeSandbox(spec: SandboxSpec, folder: SandboxFolder, walls: Walls, uid: number | null): Sandbox {
  const isWalled = walls.kind === 'namespaces';
  const account: GuestAccount | null = uid === null ? null : { name: 'user', uid, gid: uid, home: GUEST.home };
  const isolation: IsolationReport = {
    kind: walls.kind,
    network: 'host',
    reason: isWalled ? null : walls.reason,
  };
  return {
    sandboxId: folder.sandboxId,
    attemptId: spec.attemptId,
    provider: 'process',
    os: 'linux',
    channel: 'local',
    imageRevision: `${os.platform()}-${os.release()}-node${process.versions.node}`,
    paths: isWalled
      ? { dataRoot: GUEST.data, workRoot: GUEST.work, node: GUEST_NODE, runnerNode: process.execPath }
      : {
          dataRoot: folder.data,
          workRoot: path.join(folder.home, '.ale'),
          node: process.execPath,
          runnerNode: process.execPath,
        },
    agent: account,
    isolation,
    guestIsolation: isWalled ? wallsOf(folder) : { kind: 'none', home: folder.home },
    desktop: null,
    endpoint: folder.path,
    resources: resourcesOf(folder, uid),
  };
}

function wallsOf(folder: SandboxFolder): GuestIsolation {
  const own = [
    { source: folder.data, target: GUEST.data },
    { source: folder.home, target: GUEST.home },
    { source: folder.temporary, target: '/tmp' },
    { source: folder.temporary, target: '/var/tmp' },
  ].map((mount) => ({ ...mount, readOnly: false }));
  return { kind: 'namespaces', mounts: [...visibleHostMounts(), ...own], hostname: folder.sandboxId };
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
