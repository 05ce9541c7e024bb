import {
  GUEST_CONTRACT_VERSION,
  type CollectManifest,
  type FirstLine,
  type JobResult,
  type JobStatus,
  type RpcCall,
  type RpcResult,
  type StopReport,
} from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { HostClock } from '#local/clock';
import type { ArtifactStore, Bucket } from '#ports/artifact-store';
import type { Channel, ChannelJob, GuestReadiness } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';

type Act = 'start' | 'wait' | 'status' | 'firstLine' | 'stop' | 'call';

export interface FakeGuestOptions {
  readonly clock: HostClock;
  readonly artifacts: ArtifactStore;
  /** Whether the machine is there; a guest without one does not answer. */
  readonly isThere: (sandboxId: string) => boolean;
  /** Told when a job that is waited for has ended. */
  readonly onJobFinished: (jobId: string) => void;
  /** How long a job takes and how it ends, besides exit 0 at once. */
  readonly script?: (job: ChannelJob) => { readonly seconds?: number; readonly result?: Partial<JobResult> };
  /** As with machines. */
  readonly fault?: (when: 'before' | 'after', act: Act, subject: string) => void;
}

interface Job {
  readonly startedAt: string;
  result: JobResult | undefined;
  isAwaited: boolean;
}

/** A guest in memory whose jobs take virtual time; a collect leaves a manifest with one file of output and one of log. */
export class FakeGuest implements Channel {
  readonly acts: string[] = [];
  readonly jobs: ChannelJob[] = [];
  readonly calls: RpcCall[] = [];
  /** What a job has said first, by its id; `stderr` is the end of its errors. */
  readonly said = new Map<string, { readonly line: string | null; readonly stderr: string }>();
  /** What a call is answered. */
  answer: (call: RpcCall) => RpcResult = () => ({ success: true });
  /** What the next stops find alive. */
  survivors = 0;
  /** Names of it. */
  left: readonly string[] | undefined = undefined;
  /** Why a stop cannot tell what survived. */
  unsure: string | undefined = undefined;
  /** What is said of it once its machine is there; nothing as long as nobody sets it. */
  readiness?: (sandbox: Sandbox) => Promise<GuestReadiness>;
  readonly #options: FakeGuestOptions;
  readonly #jobs = new Map<string, Job>();

  constructor(options: FakeGuestOptions) {
    this.#options = options;
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    await this.#act('start', sandbox, job.jobId, async () => {
      const key = `${sandbox.sandboxId} ${job.jobId}`;
      if (this.#jobs.has(key)) return;
      this.jobs.push(job);
      const entry: Job = { startedAt: this.#now(), result: undefined, isAwaited: false };
      this.#jobs.set(key, entry);
      const { seconds = 0, result = {} } = this.#options.script?.(job) ?? {};
      const finish = (): void => {
        if (entry.result === undefined && this.#options.isThere(sandbox.sandboxId))
          this.#end(job.jobId, entry, { sha256OfManifest, ...result });
      };
      const sha256OfManifest = job.kind === 'collect' ? await this.#upload(job) : null;
      if (seconds === 0) finish();
      else this.#options.clock.setTimer(seconds * 1000, finish);
    });
  }

  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    await this.#act('wait', sandbox, jobId, async () => {
      const job = this.#jobs.get(`${sandbox.sandboxId} ${jobId}`);
      if (job === undefined) throw unreachable(sandbox.sandboxId, `it knows no job ${jobId}`);
      if (job.result !== undefined) this.#options.onJobFinished(jobId);
      job.isAwaited = true;
    });
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    return await this.#act('status', sandbox, jobId, async () => {
      const job = this.#jobs.get(`${sandbox.sandboxId} ${jobId}`);
      if (job === undefined) return { state: 'unknown' } as const;
      if (job.result === undefined) return { state: 'running', startedAt: job.startedAt } as const;
      return { state: 'finished', result: job.result } as const;
    });
  }

  async firstLine(sandbox: Sandbox, jobId: string): Promise<FirstLine> {
    const status = await this.status(sandbox, jobId);
    return await this.#act('firstLine', sandbox, jobId, async () => {
      return { ...(this.said.get(jobId) ?? { line: null, stderr: '' }), status };
    });
  }

  async stop(sandbox: Sandbox, jobId: string): Promise<StopReport> {
    return await this.#act('stop', sandbox, jobId, async () => {
      const job = this.#jobs.get(`${sandbox.sandboxId} ${jobId}`);
      if (job !== undefined && job.result === undefined) this.#end(jobId, job, { end: 'stopped', exitCode: null });
      const { survivors, left, unsure } = this;
      return { confirmedDead: survivors === 0 && unsure === undefined, survivors, left, unsure };
    });
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[]): Promise<readonly RpcResult[]> {
    return await this.#act('call', sandbox, '', async () => {
      this.calls.push(...calls);
      return calls.map((call) => this.answer(call));
    });
  }

  jobFolder(sandbox: Sandbox, jobId: string): string {
    return `/jobs/${sandbox.sandboxId}/${jobId}`;
  }

  async #act<T>(act: Act, { sandboxId }: Sandbox, subject: string, work: () => Promise<T>): Promise<T> {
    this.acts.push(`${act} ${subject}`.trim());
    if (!this.#options.isThere(sandboxId)) throw unreachable(sandboxId, 'it does not answer');
    this.#options.fault?.('before', act, subject);
    const done = await work();
    this.#options.fault?.('after', act, subject);
    return done;
  }

  #end(jobId: string, job: Job, parts: Partial<JobResult>): void {
    job.result = { ...endedJob(jobId, job.startedAt, this.#now()), ...parts };
    if (job.isAwaited) this.#options.onJobFinished(jobId);
  }

  /** @returns the hash of the manifest. */
  async #upload(job: Extract<ChannelJob, { kind: 'collect' }>): Promise<string> {
    const bucket = new URL(job.grant.url).pathname.slice(1) as Bucket;
    const files = [
      ['output/', 'answer.txt'],
      ['origin_log/', 'transcript.jsonl'],
    ] as const;
    const entries = new Map<string, CollectManifest['roots'][number]['entries']>();
    for (const [root, path] of files) {
      const key = `${job.grant.keyPrefix}${root}${path}`;
      const { sha256, sizeBytes } = await this.#options.artifacts.put({ bucket, key }, `${path}\n`);
      entries.set(root, [{ path, kind: 'file', sizeBytes, sha256, key, target: null, skipped: null }]);
    }
    const manifest: CollectManifest = {
      version: GUEST_CONTRACT_VERSION,
      jobId: job.jobId,
      roots: job.roots.map(({ keyPrefix }) => ({ keyPrefix, missing: false, entries: entries.get(keyPrefix) ?? [] })),
    };
    const key = `${job.grant.keyPrefix}${job.manifestKey}`;
    return (await this.#options.artifacts.put({ bucket, key }, JSON.stringify(manifest))).sha256;
  }

  #now(): string {
    return this.#options.clock.now().toISOString();
  }
}

function unreachable(sandboxId: string, why: string): ExamHallError {
  return new ExamHallError('ChannelUnavailableError', `the guest of ${sandboxId} cannot be used: ${why}`);
}

function endedJob(jobId: string, startedAt: string, endedAt: string): JobResult {
  return {
    version: GUEST_CONTRACT_VERSION,
    jobId,
    end: 'exited',
    exitCode: 0,
    signal: null,
    startedAt,
    endedAt,
    durationSeconds: (Date.parse(endedAt) - Date.parse(startedAt)) / 1000,
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
  };
}
