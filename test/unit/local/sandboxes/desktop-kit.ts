import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { JobResult, RpcResult } from '#contracts/guest';
import { findDesktop } from '#local/desktop/installation';
import { createDesktopProvider, type DesktopProviderOptions } from '#local/sandboxes/desktop-provider';
import { createLocalChannel, type LocalChannel } from '#local/sandboxes/local-channel';
import type { ChannelJob } from '#ports/channel';
import type { Sandbox, SandboxDesktop, SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
import { RealClock } from '#local/clock';
import { sandboxSpec } from '#test/fakes/sandbox';
import { guestRunner, until } from '#test/unit/guest/guest-kit';

/** A provider of desktops over a scratch folder, with its channel. */
export class DesktopKit {
  readonly root: string;
  readonly provider: SandboxProvider;
  readonly channel: LocalChannel;
  readonly finished: string[] = [];

  private constructor(root: string, runner: string, options: Partial<DesktopProviderOptions>) {
    this.root = root;
    this.provider = createDesktopProvider({
      root: path.join(root, 'desktops'),
      guestRunner: runner,
      clock: new RealClock(),
      found: findDesktop(),
      bridge: null,
      ...options,
    });
    this.channel = createLocalChannel({
      guestRunner: runner,
      onJobFinished: (jobId) => void this.finished.push(jobId),
    });
  }

  static async open(options: Partial<DesktopProviderOptions> = {}): Promise<DesktopKit> {
    const root = mkdtempSync(path.join(os.tmpdir(), 'examhall-desktop-'));
    return new DesktopKit(root, await guestRunner(), options);
  }

  acquire(overrides: Partial<SandboxSpec> = {}): Promise<Sandbox> {
    return this.provider.acquire(sandboxSpec({ provider: 'desktop', ...overrides }));
  }

  /** One command as the agent's account, by way of the channel. */
  async ask(sandbox: Sandbox, command: string, params: Readonly<Record<string, unknown>> = {}): Promise<RpcResult> {
    const [answer] = await this.channel.call(sandbox, [{ command, params }], 60);
    if (answer === undefined) throw new Error(`no answer to ${command}`);
    return answer;
  }

  /** What a shell command of the agent prints. */
  async shell(sandbox: Sandbox, command: string): Promise<string> {
    const answer = await this.ask(sandbox, 'run_command', { command });
    return answer.success ? `${String(answer['stdout'])}${String(answer['stderr'])}` : answer.error;
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

/** The desktop of a sandbox that has one. */
export function desktopOf(sandbox: Sandbox): SandboxDesktop {
  if (sandbox.desktop === null) throw new Error(`${sandbox.sandboxId} has no desktop`);
  return sandbox.desktop;
}

/** Everything of a folder's sandboxes that may outlive them: processes, mounts and short names. */
export function remainsOf(root: string): string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(root));
  const names = existsSync('/run/examhall/desktops') ? readdirSync('/run/examhall/desktops') : [];
  const dangling = names.filter((name) => !existsSync(path.join('/run/examhall/desktops', name)));
  const processes = execFileSync('ps', ['-eo', 'pid,args', '-ww'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(root));
  return [...mounts, ...dangling, ...processes];
}
