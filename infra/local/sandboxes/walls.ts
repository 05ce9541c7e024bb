import os from 'node:os';
import path from 'node:path';
import type { GuestAccount, GuestIsolation, GuestMount } from '#contracts/guest';
import type { Sandbox, SandboxSpec } from '#ports/sandbox-provider';
import { probeUid } from './agent-accounts.ts';
import { loadGuestRunner } from './guest-bundle.ts';
import type { SandboxFolder } from './sandbox-folder.ts';
import { findExposed, GUEST_NODE, visibleHostMounts } from './visible-host.ts';

/** How agents are walled in on this computer: by namespaces, or not at all and why. */
export type Walls = { readonly kind: 'namespaces' } | { readonly kind: 'none'; readonly reason: string };

export interface WallOptions {
  /** Folder of all sandboxes of this host. */
  readonly root: string;
  /** Path of the bundled guest runner. */
  readonly guestRunner: string;
  /** Host paths no agent may see, besides `root`; by default this repository and the home folder. */
  readonly hidden?: readonly string[];
  /** When given, no walls are tried and the record says this. */
  readonly withoutWalls?: string;
}

/** Paths inside, as upstream's machines have them. */
export const GUEST = { data: '/media/user/data/agenthle', home: '/home/user', work: '/home/user/.ale' } as const;

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

/**
 * Tries the walls with a command that really runs behind them.
 * @param mounts what is shown of the host besides programs and settings; checked like those.
 */
export async function findWalls(options: WallOptions, mounts: readonly GuestMount[] = []): Promise<Walls> {
  const { withoutWalls, root, hidden = [REPOSITORY, os.homedir()] } = options;
  if (withoutWalls !== undefined) return { kind: 'none', reason: withoutWalls };
  if (process.platform !== 'linux')
    return { kind: 'none', reason: `namespaces need Linux; this is ${process.platform}` };
  if (process.getuid?.() !== 0) return { kind: 'none', reason: 'namespaces need root' };
  const shown = [...visibleHostMounts(), ...mounts];
  const exposed = findExposed(shown, [root, ...hidden]);
  if (exposed !== null) return { kind: 'none', reason: exposed };
  const uid = probeUid();
  const account: GuestAccount = { name: 'user', uid, gid: uid, home: '/' };
  const runner = await loadGuestRunner(options.guestRunner);
  const trouble = await runner.probe(account, { kind: 'namespaces', mounts: shown, hostname: 'probe' });
  return trouble === null ? { kind: 'namespaces' } : { kind: 'none', reason: trouble };
}

/** A sandbox whose folders are made, as its provider finishes it. */
export interface SandboxPlace {
  readonly spec: SandboxSpec;
  readonly folder: SandboxFolder;
  readonly walls: Walls;
  readonly uid: number | null;
}

/** What every sandbox of this computer is: its paths, its account, its walls. */
export function describePlace(
  { spec, folder, walls, uid }: SandboxPlace,
  provider: string,
  mounts: readonly GuestMount[] = [],
): Omit<Sandbox, 'resources'> {
  const isWalled = walls.kind === 'namespaces';
  const account: GuestAccount | null = uid === null ? null : { name: 'user', uid, gid: uid, home: GUEST.home };
  return {
    sandboxId: folder.sandboxId,
    attemptId: spec.attemptId,
    provider,
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
    isolation: { kind: walls.kind, network: 'host', reason: isWalled ? null : walls.reason },
    guestIsolation: isWalled ? isolationOf(folder, mounts) : { kind: 'none', home: folder.home },
    desktop: null,
    endpoint: folder.path,
  };
}

function isolationOf(folder: SandboxFolder, mounts: readonly GuestMount[]): GuestIsolation {
  const own = [
    { source: folder.data, target: GUEST.data },
    { source: folder.home, target: GUEST.home },
    { source: folder.temporary, target: '/tmp' },
    { source: folder.temporary, target: '/var/tmp' },
  ].map((mount) => ({ ...mount, readOnly: false }));
  return { kind: 'namespaces', mounts: [...visibleHostMounts(), ...mounts, ...own], hostname: folder.sandboxId };
}
