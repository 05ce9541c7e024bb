import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { GuestMount } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { SETUP_COMMAND, type DesktopInstallation, type FoundDesktop } from '#local/desktop/installation';
import type { Sandbox, SandboxProvider } from '#ports/sandbox-provider';
import { desktopJob } from './desktop-job.ts';
import { dropName, makeNetwork, nameSocket, relayJob, SERVER_PORT, whyNoNetwork } from './desktop-network.ts';
import { displayOf, startDesktop } from './desktop-start.ts';
import { FolderProvider, type FolderProviderOptions, type SandboxKind } from './folder-provider.ts';
import type { SandboxFolder } from './sandbox-folder.ts';
import { desktopWishes, resolutionOf } from './sandbox-spec-check.ts';
import { desktopSettingMounts } from './visible-host.ts';
import { describePlace, findWalls, GUEST, type SandboxPlace, type Walls } from './walls.ts';
import { writeXAuthority } from './x-cookie.ts';

export interface DesktopProviderOptions extends FolderProviderOptions {
  /** Where it is lacking, nothing is acquired; what an earlier run left is still found and ended. */
  readonly found: FoundDesktop;
  /** Path of the bundled bridge; null for sandboxes without one. */
  readonly bridge: string | null;
}

/** Where the bridge lies behind the walls. */
const GUEST_BRIDGE = '/opt/examhall/bridge/cua-desktop.mjs';
/** Ended with its sandbox; this is only for one that nobody ends. */
const WALL_SECONDS = 2_000_000;

/**
 * Sandboxes with a screen: Xvfb, a window manager and the real cua-server, all run as the agent. As root on Linux each is
 * walled in like a `process` sandbox and has besides its own X cookie and a network of its own without a way out, so that
 * no agent reaches its neighbour's server, which asks nobody who he is; otherwise the isolation report says `none`.
 */
export function createDesktopProvider(options: DesktopProviderOptions): SandboxProvider {
  return new FolderProvider(new DesktopKind(options), options);
}

class DesktopKind implements SandboxKind {
  readonly name = 'desktop';
  readonly #options: DesktopProviderOptions;

  constructor(options: DesktopProviderOptions) {
    this.#options = options;
  }

  lacks(): ExamHallError | null {
    const { found } = this.#options;
    return found.isThere ? null : notSetUp(found.reason);
  }

  readonly wishes = desktopWishes;

  /** @throws SandboxRefusedError where desktops are not set up. */
  get #installation(): DesktopInstallation {
    const { found } = this.#options;
    if (found.isThere) return found.installation;
    throw notSetUp(found.reason);
  }

  async findWalls(): Promise<Walls> {
    const walls = await findWalls(this.#options, this.#mounts());
    if (walls.kind === 'none') return walls;
    const trouble = await whyNoNetwork();
    return trouble === null ? walls : { kind: 'none', reason: trouble };
  }

  async finish(place: SandboxPlace): Promise<Omit<Sandbox, 'resources'>> {
    const base = describePlace(place, this.name, [...this.#mounts(), ...this.#hiddenMounts()]);
    const isWalled = place.walls.kind === 'namespaces';
    const { revision, ...desktop } = isWalled ? await this.#startWalled(place, base) : await this.#start(place, base);
    return {
      ...base,
      ...desktop,
      imageRevision: `${base.imageRevision ?? ''}-${revision}`,
    };
  }

  async #startWalled(place: SandboxPlace, base: Omit<Sandbox, 'resources'>): Promise<Desktop> {
    const { folder } = place;
    const networkNamespace = await makeNetwork(folder);
    const socketPath = nameSocket(folder);
    const guestIsolation = { ...base.guestIsolation, networkNamespace };
    mkdirSync(path.join(folder.temporary, '.X11-unix'), { recursive: true });
    chmodSync(path.join(folder.temporary, '.X11-unix'), 0o1777);
    const xAuthority = this.#authority(place, GUEST.home);
    const size = resolutionOf(place.spec);
    const plan = { account: base.agent, isolation: guestIsolation, home: GUEST.home, xAuthority, ...size };
    const jobs = [
      desktopJob({ ...plan, python: this.#installation.python, port: SERVER_PORT, wallSeconds: WALL_SECONDS }),
      relayJob(socketPath, networkNamespace, WALL_SECONDS),
    ];
    const serverUrl = `http://127.0.0.1:${String(SERVER_PORT)}`;
    const endpoint = { url: serverUrl, socketPath };
    const { display, serverVersion } = await startDesktop({ ...this.#options, folder, jobs, endpoint, size });
    return {
      revision: this.#revision(serverVersion),
      isolation: { ...base.isolation, network: 'own' },
      guestIsolation,
      desktop: {
        serverUrl,
        endpoint,
        env: { DISPLAY: display, XAUTHORITY: xAuthority },
        bridge: this.#options.bridge === null ? null : GUEST_BRIDGE,
      },
    };
  }

  async #start(place: SandboxPlace, base: Omit<Sandbox, 'resources'>): Promise<Desktop> {
    const { folder } = place;
    const xAuthority = this.#authority(place, folder.home);
    const size = resolutionOf(place.spec);
    const plan = { account: null, isolation: base.guestIsolation, home: folder.home, xAuthority, ...size };
    const jobs = [desktopJob({ ...plan, python: this.#installation.python, port: 0, wallSeconds: WALL_SECONDS })];
    const started = await startDesktop({ ...this.#options, folder, jobs, endpoint: null, size });
    const { url } = started.endpoint;
    return {
      revision: this.#revision(started.serverVersion),
      isolation: base.isolation,
      guestIsolation: base.guestIsolation,
      desktop: {
        serverUrl: url,
        endpoint: { url, socketPath: null },
        env: { DISPLAY: started.display, XAUTHORITY: xAuthority },
        bridge: this.#options.bridge,
      },
    };
  }

  #authority({ folder, walls, uid }: SandboxPlace, home: string): string {
    const hostname = walls.kind === 'namespaces' ? folder.sandboxId : os.hostname();
    writeXAuthority(path.join(folder.home, '.Xauthority'), hostname, uid);
    return path.join(home, '.Xauthority');
  }

  /** @throws ProvisionFailedError for a server that is not the one that was read and pinned. */
  #revision(serverVersion: string): string {
    const { server, lockSha256 } = this.#installation;
    if (serverVersion === server) return `cua${server}-${lockSha256.slice(0, 8)}`;
    const message = `the server says that it is cua-computer-server ${serverVersion}, and ${server} was installed; run examhall setup desktop again`;
    throw new ExamHallError('ProvisionFailedError', message);
  }

  /** What is shown besides programs and settings. */
  #mounts(): GuestMount[] {
    const { folder, browser } = this.#installation;
    const show = (source: string): GuestMount => ({ source, target: source, readOnly: true });
    return [show(folder), ...browserFolder(browser).map(show), ...desktopSettingMounts()];
  }

  /** Shown although they may lie in a folder that is hidden: they hold nothing else. */
  #hiddenMounts(): GuestMount[] {
    const { bridge } = this.#options;
    const python = this.#installation.pythonFolder;
    return [
      ...(python === null ? [] : [{ source: python, target: python, readOnly: true }]),
      ...(bridge === null ? [] : [{ source: bridge, target: GUEST_BRIDGE, readOnly: true }]),
    ];
  }

  async clear(folder: SandboxFolder): Promise<void> {
    dropName(folder);
    const display = (await displayOf(folder, this.#options.guestRunner))?.slice(1);
    if (display !== undefined && folder.marker()?.uid === null) await removeDeadDisplay(display);
  }
}

interface Desktop extends Pick<Sandbox, 'isolation' | 'guestIsolation' | 'desktop'> {
  readonly revision: string;
}

function notSetUp(reason: string): ExamHallError {
  const message = `provider desktop is not set up on this computer (${reason}); run: ${SETUP_COMMAND}`;
  return new ExamHallError('SandboxRefusedError', message, { provider: 'desktop' });
}

/** The folder of a browser that is not in /usr. */
function browserFolder(browser: string | null): string[] {
  const real = browser === null ? '' : realpathSync(browser);
  return real.startsWith('/opt/') ? [path.dirname(real)] : [];
}

/** Removes the socket that an X server leaves in /tmp when it is killed, unless somebody listens there again. */
async function removeDeadDisplay(display: string): Promise<void> {
  const file = `/tmp/.X11-unix/X${display}`;
  if (!existsSync(file)) return;
  const socket = connect(file);
  const isDead = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(false));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
  socket.destroy();
  if (isDead) rmSync(file, { force: true });
}
