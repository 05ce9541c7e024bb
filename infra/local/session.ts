import { appendFileSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createChildModuleRunner } from '#adapters/child-module-runner';
import { RealClock } from '#local/clock';
import { EmbeddedHost } from '#local/embedded-host';
import { createDiskRunTree } from '#local/run-tree';
import { bundleGuestRunner } from '#local/sandboxes/guest-bundle';
import { createLocalChannel } from '#local/sandboxes/local-channel';
import { createNoopChannel, createNoopProvider } from '#local/sandboxes/noop-provider';
import { createProcessProvider } from '#local/sandboxes/process-provider';
import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { startObjectServer } from '#local/stores/object-server';
import { RequestSigner } from '#local/stores/request-signer';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';
import type { Log } from '#ports/ports';
import type { ModuleRunner } from '#ports/module-runner';
import { bundle } from '../bundler.ts';
import { EXAM_HALL_VERSION } from './code-version.ts';
import { createJsonLog } from './host-ports.ts';
import { LOCAL_PROVIDERS, channelsOf, providersOf } from './local-providers.ts';
import { recover, type Recovery } from './recover.ts';
import { takeSessionLock } from './session-lock.ts';
import { createDiskWorkspace } from './workspace.ts';

export { LOCAL_PROVIDERS };

export interface SessionOptions {
  /** `<output.root>/<experiment name>`: the run tree; our own state lies below it in `.examhall`. */
  readonly treeRoot: string;
  /** Told of every log line as it is written. */
  readonly onLog?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** An embedded host over one experiment's folder, put in order and ready to run. */
export interface Session {
  readonly host: EmbeddedHost;
  readonly modules: ModuleRunner;
  readonly recovery: Recovery;
  readonly stateDir: string;
  readonly bundlesDir: string;
  close(): Promise<void>;
}

/**
 * Opens an experiment's folder: takes its lock, starts the object server, and settles what an earlier process left.
 * @throws SessionBusyError, StorageFullError, StorageReadOnlyError.
 */
export async function openSession({ treeRoot, onLog }: SessionOptions): Promise<Session> {
  const stateDir = path.join(treeRoot, '.examhall');
  const release = takeSessionLock(stateDir);
  try {
    return await openLocked({ treeRoot, stateDir, ...(onLog === undefined ? {} : { onLog }) }, release);
  } catch (error) {
    release();
    throw error;
  }
}

interface Opening extends SessionOptions {
  readonly stateDir: string;
}

async function openLocked({ treeRoot, stateDir, onLog }: Opening, release: () => void): Promise<Session> {
  const clock = new RealClock();
  const bundlesDir = path.join(stateDir, 'bundles');
  const scratchDir = path.join(stateDir, 'scratch');
  await rm(scratchDir, { recursive: true, force: true });
  const served: { baseUrl: string } = { baseUrl: '' };
  const signer = new RequestSigner(
    () => served.baseUrl,
    () => clock.now().getTime(),
  );
  const artifacts = await DiskArtifactStore.open(path.join(stateDir, 'store'), signer);
  const server = await startObjectServer(artifacts, signer);
  served.baseUrl = server.baseUrl;
  const unitStore = new SqliteUnitStore(path.join(stateDir, 'state.db'));
  const childEntry = await bundle(path.join(import.meta.dirname, '../../lambdas/shared/adapters/child-entry.ts'), { outDir: bundlesDir });
  const modules = createChildModuleRunner({ childEntry: childEntry.path });
  const guestRunner = await bundleGuestRunner(bundlesDir);
  const jobFinished: { tell: (jobId: string) => void } = { tell: () => undefined };
  const channel = createLocalChannel({ guestRunner: guestRunner.path, onJobFinished: (jobId) => { jobFinished.tell(jobId); } });
  const noop = createNoopChannel({ onJobFinished: (jobId) => { jobFinished.tell(jobId); } });
  const host = await EmbeddedHost.create({
    clock,
    ports: {
      unitStore,
      artifacts,
      modules,
      providers: providersOf([
        createProcessProvider({ root: path.join(stateDir, 'sandboxes'), guestRunner: guestRunner.path, clock }),
        createNoopProvider(),
      ]),
      channels: channelsOf(channel, noop),
      runTree: createDiskRunTree(treeRoot, artifacts),
      workspace: createDiskWorkspace(scratchDir),
      versions: { examHall: EXAM_HALL_VERSION, node: process.versions.node, guestRunner: guestRunner.sha256 },
      log: sessionLog(path.join(stateDir, 'log'), onLog),
    },
  });
  jobFinished.tell = (jobId) => {
    void host.ports.events.publish('guest.job-finished', { jobId });
  };
  const close = async (): Promise<void> => {
    host.close();
    await server.close();
    unitStore.close();
    release();
  };
  try {
    return { host, modules, recovery: await recover(host), stateDir, bundlesDir, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lines go to `log/<day>.jsonl`; the listener sees them first. */
function sessionLog(folder: string, onLog: SessionOptions['onLog']): Log {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${new Date().toISOString().slice(0, 10)}.jsonl`);
  const written = createJsonLog(
    (line) => { appendFileSync(file, `${line}\n`); },
    () => new Date(),
  );
  const both =
    (level: 'info' | 'warn' | 'error') =>
    (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      onLog?.(event, fields);
      written[level](event, fields);
    };
  return { info: both('info'), warn: both('warn'), error: both('error') };
}
