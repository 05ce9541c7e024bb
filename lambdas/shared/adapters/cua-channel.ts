import { setTimeout as sleep } from 'node:timers/promises';
import type { CuaClient } from '#adapters/cua-client';
import type { FirstLine, JobStatus, RpcCall, RpcResult, StopReport } from '#contracts/guest';
import type { Channel, ChannelJob } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import { CuaJobs, unknownJob } from './cua-channel-jobs.ts';
import type { CuaGuest } from './cua-channel-guest.ts';
import { CuaMoves } from './cua-channel-moves.ts';

export interface CuaChannelOptions {
  readonly connect: (endpoint: string) => CuaClient;
  /** A job that was waited for has ended. May come more than once for a job that is waited for again. */
  onJobFinished(jobId: string, sandboxId: string): void;
  /** Waiting itself went wrong; the job may still run. */
  onTrouble?(error: unknown, jobId: string): void;
}

/** A channel that lets go of what it waits for; what runs on the machine runs on, what the host moves ends. */
export interface CuaChannel extends Channel {
  close(): void;
}

const POLL_SECONDS = [0.1, 0.1, 0.2, 0.3, 0.5, 0.5, 1];
const LAST_POLL_SECONDS = 2;
/** Every so many looks the runner itself is asked, which notices a supervisor that has died. */
const STATUS_EVERY = 10;
const GIVE_UP_MILLISECONDS = 600_000;

/**
 * Drives machines of which only a cua-server is known, for a host that lives as long as their jobs. Commands are run by the guest
 * runner, brought there by the server, as the account the server runs as; files are moved by the host.
 */
export function createCuaChannel(options: CuaChannelOptions): CuaChannel {
  return new ServerChannel(options);
}

class ServerChannel implements CuaChannel {
  readonly #options: CuaChannelOptions;
  readonly #jobs: CuaJobs;
  readonly #moves = new CuaMoves();
  readonly #closing = new AbortController();
  readonly #waits = new Set<string>();

  constructor(options: CuaChannelOptions) {
    this.#options = options;
    this.#jobs = new CuaJobs(options);
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    if (job.kind === 'exec') await this.#jobs.start(sandbox, job);
    else this.#moves.start(this.#jobs.guest(sandbox), job);
  }

  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    const guest = this.#jobs.guest(sandbox);
    const key = `${sandbox.sandboxId} ${jobId}`;
    if (this.#waits.has(key)) return;
    const isMove = this.#moves.status(guest, jobId) !== undefined;
    if (!isMove && !(await guest.hasJob(jobId))) throw unknownJob(sandbox, jobId);
    if (this.#waits.has(key)) return;
    this.#waits.add(key);
    const ended = this.#moves.ended(guest, jobId) ?? this.#ended(guest, jobId);
    ended
      .then(
        () => {
          if (!this.#closing.signal.aborted) this.#options.onJobFinished(jobId, sandbox.sandboxId);
        },
        (error: unknown) => {
          if (!this.#closing.signal.aborted) this.#options.onTrouble?.(error, jobId);
        },
      )
      .finally(() => this.#waits.delete(key));
  }

  /** Looks until the job has ended. A machine that does not answer for a while is looked at again. */
  async #ended(guest: CuaGuest, jobId: string): Promise<void> {
    let since: number | undefined;
    for (let turn = 0; ; turn += 1) {
      try {
        if (await guest.hasResult(jobId)) return;
        if (turn % STATUS_EVERY === STATUS_EVERY - 1 && (await guest.status(jobId)).state === 'finished') return;
        since = undefined;
      } catch (error) {
        since ??= performance.now();
        if (performance.now() - since > GIVE_UP_MILLISECONDS) throw error;
      }
      await sleep((POLL_SECONDS[turn] ?? LAST_POLL_SECONDS) * 1_000, undefined, { signal: this.#closing.signal });
    }
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    const guest = this.#jobs.guest(sandbox);
    return this.#moves.status(guest, jobId) ?? (await guest.status(jobId));
  }

  async firstLine(sandbox: Sandbox, jobId: string, timeoutSeconds: number): Promise<FirstLine> {
    const guest = this.#jobs.guest(sandbox);
    const move = this.#moves.ended(guest, jobId);
    if (move !== undefined) return this.#moveEnd(guest, jobId, { move, timeoutSeconds });
    return await this.#jobs.firstLine(sandbox, jobId, timeoutSeconds);
  }

  /** A move says nothing; its end is all there is to wait for. */
  async #moveEnd(
    guest: CuaGuest,
    jobId: string,
    { move, timeoutSeconds }: { readonly move: Promise<unknown>; readonly timeoutSeconds: number },
  ): Promise<FirstLine> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#closing.signal]);
    await Promise.race([move, sleep(timeoutSeconds * 1_000, undefined, { signal }).catch(() => undefined)]);
    over.abort();
    return { line: null, stderr: '', status: this.#moves.status(guest, jobId) ?? { state: 'unknown' } };
  }

  async stop(sandbox: Sandbox, jobId: string): Promise<StopReport> {
    const guest = this.#jobs.guest(sandbox);
    await this.#moves.stop(guest, jobId);
    return guest.stop(jobId);
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[], timeoutSeconds: number): Promise<readonly RpcResult[]> {
    return await this.#jobs.call(sandbox, calls, timeoutSeconds);
  }

  jobFolder(sandbox: Sandbox, jobId: string): string {
    return this.#jobs.jobFolder(sandbox, jobId);
  }

  close(): void {
    this.#closing.abort();
    this.#moves.close();
    this.#jobs.close();
  }
}
