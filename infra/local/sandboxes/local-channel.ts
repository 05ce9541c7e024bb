import { existsSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import {
  GUEST_CONTRACT_VERSION,
  type FirstLine,
  type GuestJob,
  type GuestRunner,
  type JobStatus,
  type RpcCall,
  type RpcResult,
  type StopReport,
} from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { Channel, ChannelJob } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import { callScreen, splitCalls } from './desktop-calls.ts';
import { loadGuestRunner } from './guest-bundle.ts';
import { startDetached } from './start-job.ts';

export interface LocalChannelOptions {
  /** Path of the bundled guest runner. */
  readonly guestRunner: string;
  /** A job that was waited for has ended. May come more than once for a job that is waited for again. */
  onJobFinished(jobId: string, sandboxId: string): void;
  /** Waiting itself went wrong; the job may still run. */
  onTrouble?(error: unknown, jobId: string): void;
}

/** A channel that lets go of what it waits for; the jobs run on. */
export interface LocalChannel extends Channel {
  close(): void;
}

/** Drives sandboxes of this computer: jobs are started detached, everything else happens in this process. */
export function createLocalChannel(options: LocalChannelOptions): LocalChannel {
  return new RunnerChannel(options);
}

class RunnerChannel implements LocalChannel {
  readonly #options: LocalChannelOptions;
  readonly #closing = new AbortController();
  readonly #waits = new Map<string, Promise<void>>();

  constructor(options: LocalChannelOptions) {
    this.#options = options;
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    await startDetached(this.#options.guestRunner, jobsDirOf(sandbox), guestJobOf(sandbox, job));
  }

  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    const jobsDir = jobsDirOf(sandbox);
    const key = path.join(jobsDir, jobId);
    if (this.#waits.has(key)) return;
    if (!existsSync(key)) throw unavailable(`there is no job ${jobId} in sandbox ${sandbox.sandboxId}`, { jobId });
    const runner = await this.#runner();
    if (this.#waits.has(key)) return;
    this.#waits.set(
      key,
      this.#await(runner, jobsDir, jobId, sandbox.sandboxId).finally(() => this.#waits.delete(key)),
    );
  }

  async #await(runner: GuestRunner, jobsDir: string, jobId: string, sandboxId: string): Promise<void> {
    try {
      const result = await runner.wait(jobsDir, jobId, { signal: this.#closing.signal });
      if (result !== undefined) this.#options.onJobFinished(jobId, sandboxId);
    } catch (error) {
      this.#options.onTrouble?.(error, jobId);
    }
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    const runner = await this.#runner();
    return runner.status(jobsDirOf(sandbox), jobId);
  }

  async firstLine(sandbox: Sandbox, jobId: string, timeoutSeconds: number): Promise<FirstLine> {
    const folder = path.join(jobsDirOf(sandbox), jobId);
    if (!existsSync(folder)) throw unavailable(`there is no job ${jobId} in sandbox ${sandbox.sandboxId}`, { jobId });
    const runner = await this.#runner();
    return await runner.firstLine(jobsDirOf(sandbox), jobId, { timeoutSeconds, signal: this.#closing.signal });
  }

  async stop(sandbox: Sandbox, jobId: string): Promise<StopReport> {
    const runner = await this.#runner();
    return runner.stop(jobsDirOf(sandbox), jobId, sandbox.agent?.uid ?? null);
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[], timeoutSeconds: number): Promise<readonly RpcResult[]> {
    if (existsSync(path.join(jobsDirOf(sandbox), '.closed'))) {
      throw unavailable(`sandbox ${sandbox.sandboxId} has been released`, { sandboxId: sandbox.sandboxId });
    }
    const { desktop } = sandbox;
    if (desktop === null) return await this.#callGuest(sandbox, calls, timeoutSeconds);
    const until = performance.now() + timeoutSeconds * 1000;
    const results: RpcResult[] = [];
    for (const run of splitCalls(calls)) {
      const secondsLeft = Math.max(0.05, (until - performance.now()) / 1000);
      const answers = run.isScreens
        ? await callScreen(desktop, run.calls, secondsLeft)
        : await this.#callGuest(sandbox, run.calls, secondsLeft);
      results.push(...answers);
    }
    return results;
  }

  async #callGuest(sandbox: Sandbox, calls: readonly RpcCall[], timeoutSeconds: number): Promise<readonly RpcResult[]> {
    const runner = await this.#runner();
    const { agent: account, guestIsolation: isolation, desktop } = sandbox;
    const batch = { account, isolation, env: desktop?.env ?? {}, timeoutSeconds, calls };
    try {
      return await runner.rpc({ version: GUEST_CONTRACT_VERSION, ...batch });
    } catch (error) {
      throw unavailable(`sandbox ${sandbox.sandboxId} does not answer: ${messageOf(error)}`, {}, error);
    }
  }

  jobFolder(sandbox: Sandbox, jobId: string): string {
    return path.join(sandbox.endpoint ?? '', 'jobs', jobId);
  }

  close(): void {
    this.#closing.abort();
  }

  #runner(): Promise<GuestRunner> {
    return loadGuestRunner(this.#options.guestRunner);
  }
}

/** The job with what the sandbox decides: whose it is, its walls, its network. */
function guestJobOf(sandbox: Sandbox, job: ChannelJob): GuestJob {
  const { as, ...asked } = job;
  const { network, ...work } = { network: undefined, ...asked };
  // A collect reads the agent's folders with the agent's eyes whoever asks for it; each root says whose it is.
  const isAgents = as === 'agent' || job.kind === 'collect';
  const { networkNamespace, ...walls } = sandbox.guestIsolation;
  const isInside = networkNamespace !== undefined && job.kind === 'exec' && (isAgents || network === 'sandbox');
  return {
    ...work,
    version: GUEST_CONTRACT_VERSION,
    account: isAgents ? sandbox.agent : null,
    isolation: { ...(isAgents ? walls : { kind: 'none' }), ...(isInside ? { networkNamespace } : {}) },
  };
}

/** @throws ChannelUnavailableError when the sandbox is gone: nobody makes its folder anew. */
function jobsDirOf(sandbox: Sandbox): string {
  const jobsDir = path.join(sandbox.endpoint ?? '', 'jobs');
  if (sandbox.endpoint !== null && existsSync(jobsDir)) return jobsDir;
  throw unavailable(`sandbox ${sandbox.sandboxId} is gone: ${jobsDir} does not exist`, {
    sandboxId: sandbox.sandboxId,
  });
}

function unavailable(message: string, details: Readonly<Record<string, unknown>>, cause?: unknown): ExamHallError {
  return new ExamHallError('ChannelUnavailableError', message, details, cause);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
