import {
  GUEST_CONTRACT_VERSION,
  type CollectManifest,
  type JobResult,
  type JobStatus,
  type RpcCall,
  type RpcResult,
  type StopReport,
} from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { HostClock } from '#local/clock';
import type { ArtifactStore, Bucket } from '#ports/artifact-store';
import type { Channel, ChannelJob, FirstLine, GuestReadiness } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import type { Chance } from './chance.ts';
import type { Cloud } from './cloud.ts';
import type { Truth } from './truth.ts';

/** Calls of one attempt that may meet a silent guest; more would be a guest that is lost. */
const MOST_SILENCES = 2;
/** How long a machine that reboots does not answer. */
const REBOOT_SECONDS = 45;

export interface GuestOptions {
  readonly clock: HostClock;
  readonly chance: Chance;
  readonly truth: Truth;
  readonly cloud: Cloud;
  readonly artifacts: ArtifactStore;
  readonly onJobFinished: (jobId: string) => void;
}

interface Job {
  readonly job: ChannelJob;
  readonly startedAt: number;
  result: JobResult | null;
  isAwaited: boolean;
}

/** What happens inside of one machine. */
interface Inside {
  readonly jobs: Map<string, Job>;
  /** Processes of the agent that a stop does not end. */
  survivors: number;
  isDiskFull: boolean;
  /** Answers nobody before this time; Infinity for never again. */
  silentUntil: number;
  silences: number;
}

/** The guests of all machines: their runners answer, and their agents do what they are drawn to do. */
export class Guests implements Channel {
  readonly #options: GuestOptions;
  readonly #inside = new Map<string, Inside>();

  constructor(options: GuestOptions) {
    this.#options = options;
  }

  async readiness({ sandboxId }: Sandbox): Promise<GuestReadiness> {
    return this.#options.cloud.isUp(sandboxId)
      ? { state: 'ready', sealingKey: 'key' }
      : { state: 'waiting', waitsFor: 'agent-online' };
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    await this.#reach('start', sandbox, async (inside) => {
      if (inside.jobs.has(job.jobId)) return;
      const entry: Job = { job, startedAt: this.#now(), result: null, isAwaited: false };
      inside.jobs.set(job.jobId, entry);
      if (job.kind === 'exec' && job.as === 'agent') this.#runAgent(sandbox, inside, entry);
      else if (job.kind === 'collect') await this.#collect(sandbox, inside, entry);
      else this.#after(sandbox, 2 + this.#options.chance.next(job.jobId) * 20, () => this.#end(entry, {}));
    });
  }

  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    await this.#reach('wait', sandbox, async (inside) => {
      const entry = inside.jobs.get(jobId);
      if (entry === undefined) throw unreachable(sandbox.sandboxId, `it knows no job ${jobId}`);
      entry.isAwaited = true;
      if (entry.result !== null) this.#options.onJobFinished(jobId);
    });
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    return await this.#reach('status', sandbox, async (inside): Promise<JobStatus> => {
      const entry = inside.jobs.get(jobId);
      if (entry === undefined) return { state: 'unknown' };
      if (entry.result !== null) return { state: 'finished', result: entry.result };
      return { state: 'running', startedAt: iso(entry.startedAt) };
    });
  }

  async firstLine(sandbox: Sandbox, jobId: string): Promise<FirstLine> {
    return { line: null, stderr: '', status: await this.status(sandbox, jobId) };
  }

  async stop(sandbox: Sandbox, jobId: string): Promise<StopReport> {
    return await this.#reach('stop', sandbox, async (inside) => {
      const entry = inside.jobs.get(jobId);
      if (entry !== undefined && entry.result === null) this.#end(entry, { end: 'stopped', exitCode: null });
      return { confirmedDead: inside.survivors === 0, survivors: inside.survivors };
    });
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[]): Promise<readonly RpcResult[]> {
    return await this.#reach('call', sandbox, async () => calls.map((): RpcResult => ({ success: true })));
  }

  jobFolder(_: Sandbox, jobId: string): string {
    return `/var/lib/examhall/jobs/${jobId}`;
  }

  /** Whether something of the attempt's agent runs on its machine now. */
  isAgentAlive(sandboxId: string): boolean {
    const inside = this.#inside.get(sandboxId);
    if (inside === undefined || !this.#options.cloud.isUp(sandboxId)) return false;
    return (
      inside.survivors > 0 || [...inside.jobs.values()].some(({ job, result }) => isOfAgent(job) && result === null)
    );
  }

  async #reach<T>(act: string, { sandboxId, attemptId }: Sandbox, work: (inside: Inside) => Promise<T>): Promise<T> {
    const { cloud, chance, truth } = this.#options;
    const inside = this.#insideOf(sandboxId);
    if (!cloud.isUp(sandboxId) || this.#now() < inside.silentUntil) throw unreachable(sandboxId, 'it does not answer');
    const isSilent = inside.silences < MOST_SILENCES && chance.strikes('guestSilent', `${attemptId} ${act}`);
    if (!isSilent) return await work(inside);
    inside.silences += 1;
    truth.strike('guestSilent', attemptId);
    if (chance.next(attemptId) < 0.5) await work(inside);
    throw unreachable(sandboxId, 'it did not answer this once');
  }

  #insideOf(sandboxId: string): Inside {
    const known = this.#inside.get(sandboxId);
    if (known !== undefined) return known;
    const fresh = { jobs: new Map<string, Job>(), survivors: 0, isDiskFull: false, silentUntil: 0, silences: 0 };
    this.#inside.set(sandboxId, fresh);
    return fresh;
  }

  #runAgent(sandbox: Sandbox, inside: Inside, entry: Job): void {
    const { truth, chance } = this.#options;
    const attempt = truth.of(sandbox.attemptId);
    attempt.agentStarts += 1;
    attempt.agentStartedAt ??= this.#now();
    if (attempt.agentStarts > 1) truth.violate(`the agent of ${sandbox.attemptId} was started twice`);
    truth.tell(`guest: the agent of ${sandbox.attemptId} starts; it ${attempt.deed}`);
    const seconds = 5 + chance.at(`run ${sandbox.attemptId}`) * 120;
    this.#after(sandbox, entry.job.wallSeconds, () => this.#end(entry, { end: 'wall-limit', exitCode: null }));
    if (attempt.deed === 'runsOut') return;
    this.#after(sandbox, seconds, () => {
      if (entry.result !== null) return;
      attempt.deedDoneAt = this.#now();
      truth.tell(`guest: the agent of ${sandbox.attemptId} ${attempt.deed} now`);
      this.#doDeed(sandbox, inside, entry);
    });
  }

  #doDeed(sandbox: Sandbox, inside: Inside, entry: Job): void {
    const { truth, cloud } = this.#options;
    switch (truth.of(sandbox.attemptId).deed) {
      case 'finishes':
        this.#end(entry, {});
        return;
      case 'runsOut':
        return;
      case 'fails':
        this.#end(entry, { exitCode: 1, message: 'Traceback' });
        return;
      case 'cries':
        this.#end(entry, {
          exitCode: 1,
          message: 'EC2 Spot Instance Interruption Warning: SandboxLostError 429',
        });
        return;
      case 'killsRunner':
        this.#end(entry, { end: 'runner-lost', exitCode: null });
        return;
      case 'reboots':
        inside.silentUntil = this.#now() + REBOOT_SECONDS * 1000;
        this.#end(entry, { end: 'runner-lost', exitCode: null });
        return;
      case 'fillsDisk':
        inside.isDiskFull = true;
        this.#end(entry, {});
        return;
      case 'survives':
        inside.survivors = 2;
        this.#end(entry, {});
        return;
      case 'mutes':
        inside.silentUntil = Infinity;
        this.#end(entry, {});
        return;
      case 'shutsDown': {
        const machine = cloud.machines.get(sandbox.sandboxId);
        if (machine !== undefined) cloud.end(machine, 'Client.InstanceInitiatedShutdown', 'agent');
      }
    }
  }

  async #collect(sandbox: Sandbox, inside: Inside, entry: Job): Promise<void> {
    if (this.isAgentAlive(sandbox.sandboxId))
      this.#options.truth.violate(`output of ${sandbox.attemptId} was collected while its agent was alive`);
    if (inside.isDiskFull) {
      const message = 'write /var/lib/examhall/jobs/manifest.json: ENOSPC: no space left on device';
      this.#after(sandbox, 3, () => this.#end(entry, { exitCode: 1, message }));
      return;
    }
    const sha256OfManifest = entry.job.kind === 'collect' ? await this.#upload(entry.job) : null;
    this.#after(sandbox, 5, () => this.#end(entry, { sha256OfManifest }));
  }

  /** @returns the hash of the manifest. */
  async #upload(job: Extract<ChannelJob, { kind: 'collect' }>): Promise<string> {
    const bucket = new URL(job.grant.url).pathname.slice(1) as Bucket;
    const { artifacts } = this.#options;
    const roots: CollectManifest['roots'][number][] = [];
    for (const [keyPrefix, path] of [
      ['output/', 'answer.txt'],
      ['origin_log/', 'transcript.jsonl'],
    ] as const) {
      const key = `${job.grant.keyPrefix}${keyPrefix}${path}`;
      const { sha256, sizeBytes } = await artifacts.put({ bucket, key }, `${path}\n`);
      const entry = { path, kind: 'file', sizeBytes, sha256, key, target: null, skipped: null } as const;
      roots.push({ keyPrefix, missing: false, entries: [entry] });
    }
    const manifest: CollectManifest = { version: GUEST_CONTRACT_VERSION, jobId: job.jobId, roots };
    const key = `${job.grant.keyPrefix}${job.manifestKey}`;
    return (await artifacts.put({ bucket, key }, JSON.stringify(manifest))).sha256;
  }

  /** Later, if the machine is there then. */
  #after({ sandboxId }: Sandbox, seconds: number, work: () => void): void {
    this.#options.clock.setTimer(seconds * 1000, () => {
      if (this.#options.cloud.isUp(sandboxId)) work();
    });
  }

  #end(entry: Job, parts: Partial<JobResult>): void {
    if (entry.result !== null) return;
    entry.result = { ...endedJob(entry.job.jobId, entry.startedAt, this.#now()), ...parts };
    this.#options.truth.tell(
      `guest: job ${entry.job.jobId} ends: ${entry.result.end} ${String(entry.result.exitCode)}`,
    );
    if (entry.isAwaited) this.#options.onJobFinished(entry.job.jobId);
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

function isOfAgent(job: ChannelJob): boolean {
  return job.kind === 'exec' && job.as === 'agent';
}

function unreachable(sandboxId: string, why: string): ExamHallError {
  return new ExamHallError('ChannelUnavailableError', `the guest of ${sandboxId} cannot be used: ${why}`);
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function endedJob(jobId: string, startedAt: number, endedAt: number): JobResult {
  return {
    version: GUEST_CONTRACT_VERSION,
    jobId,
    end: 'exited',
    exitCode: 0,
    signal: null,
    startedAt: iso(startedAt),
    endedAt: iso(endedAt),
    durationSeconds: (endedAt - startedAt) / 1000,
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
