import { setTimeout as sleep } from 'node:timers/promises';
import type { CuaClient } from '#adapters/cua-client';
import {
  GUEST_CONTRACT_VERSION,
  type FirstLine,
  type GuestJob,
  type JobStatus,
  type RpcCall,
  type RpcResult,
  type StopReport,
} from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { Channel, ChannelJob } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import { callServer } from './cua-channel-calls.ts';
import { CuaClients, CuaGuest } from './cua-channel-guest.ts';

export interface CuaJobsOptions {
  readonly connect: (endpoint: string) => CuaClient;
  /** From one look for a first line to the next. */
  readonly pollMilliseconds?: number;
}

const POLL_MILLISECONDS = 250;

/**
 * Drives machines of which only a cua-server is known, for a host that does not live until a job ends: every job is the guest
 * runner's, transfers too, so the machine must reach the object store; and nothing tells of an end.
 */
export class CuaJobs implements Channel {
  readonly tellsEnds = false;
  readonly #pollMilliseconds: number;
  readonly #clients: CuaClients;
  readonly #closing = new AbortController();

  constructor({ connect, pollMilliseconds = POLL_MILLISECONDS }: CuaJobsOptions) {
    this.#clients = new CuaClients(connect);
    this.#pollMilliseconds = pollMilliseconds;
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    await this.guest(sandbox).start(guestJobOf(sandbox, job));
  }

  /** Arms nothing. */
  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    if (!(await this.guest(sandbox).hasJob(jobId))) throw unknownJob(sandbox, jobId);
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    return await this.guest(sandbox).status(jobId);
  }

  async firstLine(sandbox: Sandbox, jobId: string, timeoutSeconds: number): Promise<FirstLine> {
    const guest = this.guest(sandbox);
    if (!(await guest.hasJob(jobId))) throw unknownJob(sandbox, jobId);
    const until = performance.now() + timeoutSeconds * 1_000;
    for (;;) {
      // The status first: whatever a job that has ended printed is in its files by then.
      const status = await guest.status(jobId);
      const { line, stderr } = await guest.said(jobId);
      if (line !== null || status.state !== 'running' || performance.now() >= until) return { line, stderr, status };
      await sleep(this.#pollMilliseconds, undefined, { signal: this.#closing.signal });
    }
  }

  async stop(sandbox: Sandbox, jobId: string): Promise<StopReport> {
    return await this.guest(sandbox).stop(jobId);
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[], timeoutSeconds: number): Promise<readonly RpcResult[]> {
    return await callServer(this.#clients.of(sandbox), calls, timeoutSeconds);
  }

  jobFolder(sandbox: Sandbox, jobId: string): string {
    return `${this.guest(sandbox).jobs}/${jobId}`;
  }

  close(): void {
    this.#closing.abort();
    this.#clients.close();
  }

  guest(sandbox: Sandbox): CuaGuest {
    return new CuaGuest(sandbox, this.#clients.of(sandbox));
  }
}

/** The job with what the machine decides: the account of its server, no walls, its own network. */
function guestJobOf(sandbox: Sandbox, job: ChannelJob): GuestJob {
  const { as: _as, ...asked } = job;
  const { network: _network, ...work } = { network: undefined, ...asked };
  return { ...work, version: GUEST_CONTRACT_VERSION, account: null, isolation: sandbox.guestIsolation };
}

export function unknownJob(sandbox: Sandbox, jobId: string): ExamHallError {
  const message = `there is no job ${jobId} in sandbox ${sandbox.sandboxId}`;
  return new ExamHallError('ChannelUnavailableError', message, { jobId });
}
