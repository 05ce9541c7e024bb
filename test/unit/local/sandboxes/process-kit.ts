import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Clock } from '#ports/clock';
import type { JobResult } from '#contracts/guest';
import { createLocalChannel, type LocalChannel } from '#local/sandboxes/local-channel';
import { createProcessProvider, type ProcessProviderOptions } from '#local/sandboxes/process-provider';
import type { ChannelJob } from '#ports/channel';
import type { Sandbox, SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
import { sandboxSpec } from '#test/fakes/sandbox';
import { guestRunner, until } from '#test/unit/guest/guest-kit';

const clock: Clock = {
  now: () => new Date('2026-01-02T03:04:05.000Z'),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/** A process provider over a scratch folder, with its channel. */
export class ProcessKit {
  readonly root: string;
  readonly provider: SandboxProvider;
  readonly channel: LocalChannel;
  readonly finished: string[] = [];

  private constructor(root: string, runner: string, options: Partial<ProcessProviderOptions>) {
    this.root = root;
    this.provider = createProcessProvider({
      root: path.join(root, 'sandboxes'),
      guestRunner: runner,
      clock,
      ...options,
    });
    this.channel = createLocalChannel({
      guestRunner: runner,
      onJobFinished: (jobId) => void this.finished.push(jobId),
    });
  }

  static async open(options: Partial<ProcessProviderOptions> = {}): Promise<ProcessKit> {
    const root = mkdtempSync(path.join(os.tmpdir(), 'examhall-process-'));
    return new ProcessKit(root, await guestRunner(), options);
  }

  acquire(overrides: Partial<SandboxSpec> = {}): Promise<Sandbox> {
    return this.provider.acquire(sandboxSpec(overrides));
  }

  async run(sandbox: Sandbox, job: ChannelJob): Promise<JobResult> {
    await this.channel.start(sandbox, job);
    await this.channel.wait(sandbox, job.jobId);
    await until(() => this.finished.includes(job.jobId), 60);
    const status = await this.channel.status(sandbox, job.jobId);
    if (status.state !== 'finished') throw new Error(`job ${job.jobId} is ${status.state}`);
    return status.result;
  }

  async remove(): Promise<void> {
    for (const sandbox of (await this.provider.list()).sandboxes) {
      await this.provider.release({ sandboxId: sandbox.sandboxId, resources: [] }, 'delete');
    }
    this.channel.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}
