import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { SINGLE_COMPUTER_POLICY, type DeploymentPolicy } from '#core/policy';
import { RealClock } from '#local/clock';
import { findDesktop } from '#local/desktop/installation';
import { EmbeddedHost, type GivenPorts } from '#local/embedded-host';
import { createDiskRunTree } from '#local/run-tree';
import { createDesktopProvider, type DesktopProviderOptions } from '#local/sandboxes/desktop-provider';
import { bundleDesktopBridge, bundleGuestRunner } from '#local/sandboxes/guest-bundle';
import { createLocalChannel } from '#local/sandboxes/local-channel';
import { createNoopChannel } from '#local/sandboxes/noop-channel';
import { createNoopProvider } from '#local/sandboxes/noop-provider';
import { createProcessProvider } from '#local/sandboxes/process-provider';
import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { startObjectServer } from '#local/stores/object-server';
import { RequestSigner } from '#local/stores/request-signer';
import { createSignedObjects } from '#local/stores/signed-objects';
import { createTreeView } from '#local/stores/tree-view';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';
import { makeFolder } from '#local/stores/make-folder';
import type { ModuleRunner } from '#ports/module-runner';
import { composeModuleRunner } from '#runtime/module-runner';
import { composeStaticMachines } from '#runtime/static-machines';
import { bundle, REPOSITORY } from '../bundler.ts';
import { codeSha256, EXAM_HALL_VERSION } from './code-version.ts';
import { channelsOf, providersOf } from './local-providers.ts';
import type { HostCode } from './host-code.ts';
import { recover, type Recovery } from './recover.ts';
import { takeSessionLock } from './session-lock.ts';
import { openSessionLog } from './session-log.ts';
import { createStorageWatch, storageFaultOf, type StorageWatch } from './storage-watch.ts';
import { createDiskWorkspace } from './workspace.ts';

const CHILD_ENTRY = path.join(REPOSITORY, 'lambdas/shared/adapters/child-entry.ts');

export interface SessionOptions {
  /** `<output.root>/<experiment name>`: the run tree; our own state lies below it in `.examhall`. */
  readonly treeRoot: string;
  /** Told of every log line as it is written. */
  readonly onLog?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Runs published modules; default in child processes. */
  readonly modules?: ModuleRunner;
  /** Handlers and machines; default this repository's sources. */
  readonly code?: HostCode;
  /** Who may do what through the API, and how much; default SINGLE_COMPUTER_POLICY. */
  readonly policy?: DeploymentPolicy;
}

/** An embedded host over one experiment's folder, put in order and ready to run. */
export interface Session {
  readonly host: EmbeddedHost;
  readonly modules: ModuleRunner;
  readonly recovery: Recovery;
  readonly stateDir: string;
  readonly bundlesDir: string;
  /** Rejects when a disk of ours turns out to be full or read-only: nothing can be recorded any more. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

/**
 * Opens an experiment's folder: takes its lock, starts the object server, and settles what an earlier process left.
 * @throws SessionBusyError, StorageFullError, StorageReadOnlyError.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { treeRoot, onLog, modules: given, code, policy = SINGLE_COMPUTER_POLICY } = options;
  const stateDir = path.join(treeRoot, '.examhall');
  const watch = createStorageWatch();
  const closers: Closers = [];
  const close = async (): Promise<void> => {
    await closeAll(closers);
  };
  try {
    makeFolder(stateDir, 0o700);
    closers.push(takeSessionLock(stateDir));
    const stores = await openStores({ stateDir, treeRoot, closers, watch });
    const bundlesDir = path.join(stateDir, 'bundles');
    const modules = given ?? composeModuleRunner((await bundle(CHILD_ENTRY, { outDir: bundlesDir })).path);
    const machines = await openMachines({ stateDir, bundlesDir, treeRoot, closers, watch });
    const sessionLog = openSessionLog(path.join(stateDir, 'log'), watch, onLog);
    closers.push(() => {
      sessionLog.close();
    });
    const host = await EmbeddedHost.create({
      clock: machines.clock,
      ...(code === undefined ? {} : { code }),
      ports: {
        ...stores,
        modules,
        providers: machines.providers,
        channels: machines.channels,
        runTree: watch.watch(createDiskRunTree(treeRoot, stores.artifacts), treeRoot),
        versions: { examHall: EXAM_HALL_VERSION, node: process.versions.node, guestRunner: machines.guestRunner },
        code: { version: EXAM_HALL_VERSION, sha256: codeSha256() },
        policy,
        log: sessionLog.log,
      },
    });
    closers.push(() => {
      host.close();
    });
    machines.onJobFinished((jobId) => {
      void host.ports.events.publish('guest.job-finished', { jobId });
    });
    return { host, modules, recovery: await recover(host), stateDir, bundlesDir, failed: watch.failed, close };
  } catch (error) {
    await close();
    throw storageFaultOf(error, treeRoot) ?? error;
  }
}

type Closers = (() => void | Promise<void>)[];

/** Last opened, first closed; every one has its turn. @throws the first failure. */
async function closeAll(closers: Closers): Promise<void> {
  const troubles: unknown[] = [];
  for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
    await Promise.resolve()
      .then(closer)
      .catch((error: unknown) => troubles.push(error));
  }
  if (troubles.length > 0) throw troubles[0];
}

interface StoresGiven {
  readonly stateDir: string;
  readonly treeRoot: string;
  readonly closers: Closers;
  readonly watch: StorageWatch;
}

async function openStores({
  stateDir,
  treeRoot,
  closers,
  watch,
}: StoresGiven): Promise<Pick<GivenPorts, 'unitStore' | 'artifacts' | 'workspace'>> {
  const scratchDir = path.join(stateDir, 'scratch');
  await rm(scratchDir, { recursive: true, force: true });
  const served = { baseUrl: '' };
  const signer = new RequestSigner(
    () => served.baseUrl,
    () => Date.now(),
  );
  const storeDir = path.join(stateDir, 'store');
  const view = createTreeView(treeRoot, path.join(stateDir, 'tree-hashes'));
  const artifacts = watch.watch(await DiskArtifactStore.open(storeDir, signer, view), storeDir);
  const server = await startObjectServer(artifacts, signer);
  closers.push(() => server.close());
  served.baseUrl = server.baseUrl;
  const own = createSignedObjects(() => served.baseUrl, artifacts, signer);
  const unitStore = new SqliteUnitStore(path.join(stateDir, 'state.db'));
  closers.push(() => {
    unitStore.close();
  });
  return {
    unitStore: watch.watch(unitStore, stateDir),
    artifacts,
    workspace: watch.watch(createDiskWorkspace(scratchDir, own), scratchDir),
  };
}

interface Machines extends Pick<GivenPorts, 'providers' | 'channels'> {
  readonly clock: RealClock;
  /** Content hash of the guest runner's bundle. */
  readonly guestRunner: string;
  onJobFinished(tell: (jobId: string) => void): void;
}

/** What desktops are started from here; the bridge is bundled only where there can be any. */
async function findBridgedDesktop(bundlesDir: string): Promise<Pick<DesktopProviderOptions, 'found' | 'bridge'>> {
  const found = findDesktop();
  return { found, bridge: found.isThere ? (await bundleDesktopBridge(bundlesDir)).path : null };
}

interface MachinesGiven extends StoresGiven {
  readonly bundlesDir: string;
}

async function openMachines(given: MachinesGiven): Promise<Machines> {
  const clock = new RealClock();
  const runner = await bundleGuestRunner(given.bundlesDir);
  let tell: (jobId: string) => void = () => undefined;
  const onJobFinished = (jobId: string): void => {
    tell(jobId);
  };
  const channel = createLocalChannel({ guestRunner: runner.path, onJobFinished });
  given.closers.push(() => {
    channel.close();
  });
  const common = { guestRunner: runner.path, clock, hidden: [REPOSITORY, os.homedir(), given.treeRoot] };
  const root = path.join(given.stateDir, 'sandboxes');
  const processes = createProcessProvider({ ...common, root });
  const desktopRoot = path.join(given.stateDir, 'desktops');
  const bridged = { ...common, ...(await findBridgedDesktop(given.bundlesDir)) };
  const desktops = createDesktopProvider({ ...bridged, root: desktopRoot });
  const machinesRoot = path.join(given.stateDir, 'machines');
  const machines = composeStaticMachines({
    root: machinesRoot,
    files: async () => ({
      guestRunner: runner.path,
      bridge: (await bundleDesktopBridge(given.bundlesDir)).path,
    }),
    onJobFinished,
  });
  given.closers.push(() => {
    machines.channel.close();
  });
  const noop = createNoopChannel({ onJobFinished });
  return {
    clock,
    guestRunner: runner.sha256,
    providers: providersOf([
      given.watch.watch(processes, root),
      given.watch.watch(desktops, desktopRoot),
      given.watch.watch(machines.provider, machinesRoot),
      createNoopProvider({
        onGone: (sandboxId) => {
          noop.forget(sandboxId);
        },
      }),
    ]),
    channels: channelsOf({ local: channel, cua: machines.channel, noop }),
    onJobFinished: (next) => {
      tell = next;
    },
  };
}
