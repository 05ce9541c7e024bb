import {
  GUEST_CONTRACT_VERSION,
  type CollectManifest,
  type FirstLine,
  type JobEnd,
  type JobResult,
  type JobStatus,
  type RpcCall,
  type RpcResult,
} from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { Channel, ChannelJob } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import { MemoryFiles } from './memory-files.ts';

export interface NoopChannelOptions {
  onJobFinished(jobId: string, sandboxId: string): void;
  readonly now?: () => Date;
  /** Called before each act; may throw what the act then throws. */
  readonly before?: (act: 'start' | 'wait' | 'status' | 'stop' | 'call', jobId: string) => void | Promise<void>;
  /** What a job's result says besides `exited` with 0. */
  readonly onJob?: (job: ChannelJob, sandbox: Sandbox) => Promise<Partial<JobResult> | undefined>;
}

export interface NoopChannel extends Channel {
  /** Lets go of all it holds for a sandbox that is gone. */
  forget(sandboxId: string): void;
}

interface Job {
  readonly startedAt: string;
  result: JobResult | undefined;
  readonly waiters: Set<() => void>;
  /** Runs out by itself; for `sleep`. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Jobs that are over as soon as they begin: exit 0, nothing written. `sleep <seconds>` alone takes its time, so that
 * running and stopping can be seen; a collect uploads a manifest of missing folders; files written by RPC can be read back.
 */
export function createNoopChannel(options: NoopChannelOptions): NoopChannel {
  return new MemoryChannel(options);
}

class MemoryChannel implements NoopChannel {
  readonly #options: NoopChannelOptions;
  readonly #now: () => Date;
  /** By sandbox, then by id. */
  readonly #jobs = new Map<string, Map<string, Job>>();
  readonly #files = new Map<string, MemoryFiles>();

  constructor(options: NoopChannelOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    await this.#options.before?.('start', job.jobId);
    const jobs = this.#jobs.get(sandbox.sandboxId) ?? new Map<string, Job>();
    if (jobs.has(job.jobId)) return;
    const entry: Job = {
      startedAt: this.#now().toISOString(),
      result: undefined,
      waiters: new Set(),
      timer: undefined,
    };
    this.#jobs.set(sandbox.sandboxId, jobs.set(job.jobId, entry));
    const seconds = secondsOf(job);
    if (seconds !== undefined) {
      const [end, wait]: [JobEnd, number] =
        seconds > job.wallSeconds ? ['wall-limit', job.wallSeconds] : ['exited', seconds];
      entry.timer = setTimeout(
        () => this.#finish(entry, job.jobId, { end, exitCode: end === 'exited' ? 0 : null }),
        wait * 1000,
      );
      return;
    }
    const parts = (await this.#options.onJob?.(job, sandbox)) ?? {};
    const sha256OfManifest = job.kind === 'collect' ? await uploadManifest(job) : null;
    this.#finish(entry, job.jobId, { sha256OfManifest, ...parts });
  }

  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    await this.#options.before?.('wait', jobId);
    const job = this.#find(sandbox, jobId);
    if (job === undefined) {
      throw new ExamHallError('ChannelUnavailableError', `there is no job ${jobId} in sandbox ${sandbox.sandboxId}`);
    }
    const tell = (): void => this.#options.onJobFinished(jobId, sandbox.sandboxId);
    if (job.result !== undefined) queueMicrotask(tell);
    else if (job.waiters.size === 0) job.waiters.add(tell);
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    await this.#options.before?.('status', jobId);
    const job = this.#find(sandbox, jobId);
    if (job === undefined) return { state: 'unknown' };
    return job.result === undefined
      ? { state: 'running', startedAt: job.startedAt }
      : { state: 'finished', result: job.result };
  }

  async firstLine(sandbox: Sandbox, jobId: string): Promise<FirstLine> {
    return { line: null, stderr: '', status: await this.status(sandbox, jobId) };
  }

  async stop(sandbox: Sandbox, jobId: string): Promise<{ confirmedDead: boolean; survivors: number }> {
    await this.#options.before?.('stop', jobId);
    const job = this.#find(sandbox, jobId);
    if (job !== undefined && job.result === undefined) this.#finish(job, jobId, { end: 'stopped', exitCode: null });
    return { confirmedDead: true, survivors: 0 };
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[]): Promise<readonly RpcResult[]> {
    await this.#options.before?.('call', sandbox.sandboxId);
    const files = this.#files.get(sandbox.sandboxId) ?? new MemoryFiles();
    this.#files.set(sandbox.sandboxId, files);
    return calls.map((call) => files.answer(call));
  }

  jobFolder(sandbox: Sandbox, jobId: string): string {
    return `/noop/${sandbox.sandboxId}/jobs/${jobId}`;
  }

  forget(sandboxId: string): void {
    this.#jobs.delete(sandboxId);
    this.#files.delete(sandboxId);
  }

  #find({ sandboxId }: Sandbox, jobId: string): Job | undefined {
    return this.#jobs.get(sandboxId)?.get(jobId);
  }

  #finish(job: Job, jobId: string, parts: Partial<JobResult>): void {
    clearTimeout(job.timer);
    const endedAt = this.#now();
    job.result = {
      version: GUEST_CONTRACT_VERSION,
      jobId,
      end: 'exited',
      exitCode: 0,
      signal: null,
      startedAt: job.startedAt,
      endedAt: endedAt.toISOString(),
      durationSeconds: Math.max(0, (endedAt.getTime() - Date.parse(job.startedAt)) / 1000),
      stdoutBytes: 0,
      stderrBytes: 0,
      stdoutTruncated: false,
      stderrTruncated: false,
      confirmedDead: true,
      survivors: 0,
      message: null,
      transferredFiles: 0,
      transferredBytes: 0,
      sha256OfManifest: null,
      ...parts,
    };
    for (const tell of job.waiters) tell();
    job.waiters.clear();
  }
}

function secondsOf(job: ChannelJob): number | undefined {
  if (job.kind !== 'exec' || job.argv[0] !== 'sleep') return undefined;
  const seconds = Number(job.argv[1]);
  return Number.isFinite(seconds) ? seconds : undefined;
}

/** Uploads the manifest of a machine on which nothing is; returns its hash. */
async function uploadManifest(job: Extract<ChannelJob, { kind: 'collect' }>): Promise<string> {
  const manifest: CollectManifest = {
    version: GUEST_CONTRACT_VERSION,
    jobId: job.jobId,
    roots: job.roots.map(({ keyPrefix }) => ({ keyPrefix, missing: true, entries: [] })),
  };
  const body = new TextEncoder().encode(JSON.stringify(manifest));
  const form = new FormData();
  for (const [name, value] of Object.entries(job.grant.fields)) form.append(name, value);
  form.append('key', `${job.grant.keyPrefix}${job.manifestKey}`);
  form.append('file', new Blob([body]), 'file');
  const answer = await fetch(job.grant.url, { method: 'POST', body: form });
  if (!answer.ok)
    throw new ExamHallError('CollectFailedError', `the upload of the manifest was answered ${answer.status}`);
  const digest = await crypto.subtle.digest('SHA-256', body);
  return Buffer.from(digest).toString('hex');
}
