import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSsmChannel } from '#adapters/ssm-channel';
import { openServedArtifacts, type ServedArtifacts } from '#local/stores/served-artifacts';
import type { Channel, ChannelJob } from '#ports/channel';
import type { GuestCalls } from '#ports/guest-calls';
import type { Sandbox } from '#ports/sandbox-provider';
import { FakeSsm } from '#test/fakes/ssm';
import { guestRunner, loaded, until } from '#test/unit/guest/guest-kit';

export interface SsmKitOptions {
  readonly cuaUrl?: string;
  readonly guestCalls?: GuestCalls;
}

const DOCUMENTS = { run: 'test-run', wait: 'test-wait' };

/** A machine that is this computer behind a double of Systems Manager, and a channel to it. */
export class SsmKit {
  readonly folder: string;
  readonly ssm: FakeSsm;
  readonly served: ServedArtifacts;
  readonly channel: Channel;
  readonly finished: string[] = [];
  /** Job ids by the command that waits for them. */
  readonly commands = new Map<string, string>();
  /** How far the host's clock is ahead of the guest's. */
  clockAheadMilliseconds = 0;
  /** What a pause of the host's adds to that. */
  clockStepMilliseconds = 0;
  readonly #options: SsmKitOptions;

  private constructor(folder: string, served: ServedArtifacts, runner: string, options: SsmKitOptions) {
    this.folder = folder;
    this.served = served;
    this.#options = options;
    this.ssm = new FakeSsm({
      runner,
      stateFolder: this.state,
      instanceId: 'i-0123456789abcdef0',
      ...(options.cuaUrl === undefined ? {} : { cuaUrl: options.cuaUrl }),
      onEnd: ({ commandId, document }) => {
        const jobId = this.commands.get(commandId);
        if (document === DOCUMENTS.wait && jobId !== undefined) this.finished.push(jobId);
      },
    });
    this.channel = createSsmChannel({
      ssm: this.ssm.client,
      artifacts: served.store,
      settings: { documents: DOCUMENTS },
      guestCalls: options.guestCalls ?? null,
      clock: {
        now: () => new Date(Date.now() + this.clockAheadMilliseconds),
        // Commands of the double take as long as the runner's process; nothing else is worth waiting for.
        sleep: async (milliseconds) => {
          this.clockAheadMilliseconds += this.clockStepMilliseconds;
          await sleep(Math.min(milliseconds, 20));
        },
      },
      onCommand: async (commandId, jobId) => void this.commands.set(commandId, jobId),
    });
  }

  static async open(options: SsmKitOptions = {}): Promise<SsmKit> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-ssm-'));
    await chmod(folder, 0o711);
    const served = await openServedArtifacts(path.join(folder, 'store'), Date.now);
    return new SsmKit(folder, served, await guestRunner(), options);
  }

  /** Where the guest keeps its key and its jobs. */
  get state(): string {
    return path.join(this.folder, 'state');
  }

  /** A machine whose runner has not said its key yet. */
  sandbox(overrides: Partial<Sandbox> = {}): Sandbox {
    const { cuaUrl } = this.#options;
    const server = cuaUrl ?? 'http://127.0.0.1:5000';
    return {
      sandboxId: 'i-0123456789abcdef0',
      attemptId: 'demo__x.1',
      provider: 'aws',
      os: 'linux',
      channel: 'ssm',
      imageRevision: null,
      paths: { dataRoot: '/tmp', workRoot: '/tmp', node: process.execPath, runnerNode: process.execPath },
      agent: null,
      isolation: { kind: 'machine', network: 'own', reason: null },
      guestIsolation: { kind: 'none', home: this.folder, keepsDesktop: true },
      desktop:
        cuaUrl === undefined
          ? null
          : { serverUrl: server, endpoint: { url: server, socketPath: null }, env: {}, bridge: null },
      endpoint: null,
      resources: [],
      ...overrides,
    };
  }

  /** The machine once it is ready. */
  async ready(overrides: Partial<Sandbox> = {}): Promise<Sandbox> {
    const sandbox = this.sandbox(overrides);
    const readiness = await this.channel.readiness?.(sandbox);
    if (readiness?.state !== 'ready' || readiness.sealingKey === null)
      throw new Error(`the machine is not ready: ${JSON.stringify(readiness)}`);
    return { ...sandbox, sealingKey: readiness.sealingKey };
  }

  /** Runs a job to its end, which must be a good one. */
  async run(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    await this.channel.start(sandbox, job);
    await this.channel.wait(sandbox, job.jobId);
    await this.until(() => this.finished.includes(job.jobId));
    const status = await this.channel.status(sandbox, job.jobId);
    if (status.state !== 'finished' || status.result.exitCode !== 0)
      throw new Error(`the job did not end well: ${JSON.stringify(status)}`);
  }

  until(what: () => boolean): Promise<void> {
    return until(what);
  }

  async remove(): Promise<void> {
    await (await loaded()).close(path.join(this.state, 'jobs'), null).catch(() => undefined);
    this.ssm.close();
    await this.served.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
