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
import type { HostClock } from '#local/clock';
import type { ArtifactStore, Bucket } from '#ports/artifact-store';
import type { Channel, ChannelJob, GuestReadiness } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import type { Chance } from './chance.ts';
import type { Cloud } from './cloud.ts';
import { ACTS, untouched, type Inside } from './guest-deeds.ts';
import { GuestReplies, PATIENCE_SECONDS, unreachable, type Verb } from './guest-replies.ts';
import type { Truth } from './truth.ts';

/** What root may leave unanswered; without any of these there is no output. */
const STALLED_VERBS = [
  ['start', 1],
  ['status', 1],
  ['stop', 1],
] as const satisfies readonly (readonly [Verb, number])[];
/** Share of the agents that do what they do as soon as they run. */
const AT_ONCE = 0.2;
/** How often the store may refuse the output of a guest that is not believed. */
const MOST_REFUSALS = 2;
const STORE_REFUSES = 'PUT https://store.example/collected: 503 SlowDown';

export interface GuestOptions {
  readonly clock: HostClock;
  readonly chance: Chance;
  readonly truth: Truth;
  readonly cloud: Cloud;
  readonly artifacts: ArtifactStore;
  /** Whether what its runner says counts for more than that something said it. */
  readonly isGuestBelieved: boolean;
  readonly onJobFinished: (jobId: string) => void;
}

interface Job {
  readonly job: ChannelJob;
  readonly startedAt: number;
  result: JobResult | null;
  isAwaited: boolean;
}

/** What happens inside of one machine. */
interface Guest extends Inside {
  readonly jobs: Map<string, Job>;
}

/** The guests of all machines: their runners answer, and their agents do what they are drawn to do. */
export class Guests implements Channel {
  readonly #options: GuestOptions;
  readonly #replies: GuestReplies;
  readonly #guests = new Map<string, Guest>();

  constructor(options: GuestOptions) {
    this.#options = options;
    this.#replies = new GuestReplies(options);
  }

  async readiness({ sandboxId }: Sandbox): Promise<GuestReadiness> {
    return this.#options.cloud.isUp(sandboxId)
      ? { state: 'ready', sealingKey: 'key' }
      : { state: 'waiting', waitsFor: 'agent-online' };
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    const isAnsweredFirst = isOfAgent(job);
    await this.#reach({ verb: 'start', isAnsweredFirst }, sandbox, async (inside) => {
      if (inside.jobs.has(job.jobId)) return;
      const entry: Job = { job, startedAt: this.#now(), result: null, isAwaited: false };
      inside.jobs.set(job.jobId, entry);
      if (job.kind === 'exec' && job.as === 'agent') this.#runAgent(sandbox, inside, entry);
      else if (job.kind === 'collect') await this.#collect(sandbox, inside, entry);
      else this.#after(sandbox, 2 + this.#options.chance.next(job.jobId) * 20, () => this.#end(entry, {}));
    });
  }

  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    await this.#reach({ verb: 'wait' }, sandbox, async (inside) => {
      const entry = inside.jobs.get(jobId);
      if (entry === undefined) throw unreachable(sandbox.sandboxId, `it knows no job ${jobId}`);
      entry.isAwaited = true;
      if (entry.result !== null) this.#options.onJobFinished(jobId);
    });
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    return await this.#reach({ verb: 'status' }, sandbox, async (inside): Promise<JobStatus> => {
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
    return await this.#reach({ verb: 'stop' }, sandbox, async (inside) => {
      const entry = inside.jobs.get(jobId);
      if (entry !== undefined && entry.result === null) this.#end(entry, { end: 'stopped', exitCode: null });
      return { confirmedDead: inside.survivors === 0, survivors: inside.survivors };
    });
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[]): Promise<readonly RpcResult[]> {
    return await this.#reach({ verb: 'call' }, sandbox, async () => calls.map((): RpcResult => ({ success: true })));
  }

  jobFolder(_: Sandbox, jobId: string): string {
    return `/var/lib/examhall/jobs/${jobId}`;
  }

  /** Whether something of the attempt's agent runs on its machine now. */
  isAgentAlive(sandboxId: string): boolean {
    const inside = this.#guests.get(sandboxId);
    if (inside === undefined || !this.#options.cloud.isUp(sandboxId)) return false;
    return (
      inside.survivors > 0 || [...inside.jobs.values()].some(({ job, result }) => isOfAgent(job) && result === null)
    );
  }

  async #reach<T>(
    { verb, isAnsweredFirst = false }: { readonly verb: Verb; readonly isAnsweredFirst?: boolean },
    { sandboxId, attemptId }: Sandbox,
    work: (guest: Guest) => Promise<T>,
  ): Promise<T> {
    const { cloud, clock } = this.#options;
    const guest = this.#guestOf(sandboxId);
    if (!cloud.isUp(sandboxId) || this.#now() < guest.silentUntil) throw unreachable(sandboxId, 'it does not answer');
    if (guest.isGarbled) throw unreachable(sandboxId, `what it answers to ${verb} is not as agreed`);
    if (guest.stalled === verb) {
      await clock.sleep(PATIENCE_SECONDS * 1000);
      throw unreachable(sandboxId, `no end of ${verb} in time`);
    }
    return await this.#replies.ask({ verb, sandboxId, attemptId, isAnsweredFirst }, async () => await work(guest));
  }

  #guestOf(sandboxId: string): Guest {
    const known = this.#guests.get(sandboxId);
    if (known !== undefined) return known;
    const fresh = { jobs: new Map<string, Job>(), ...untouched() };
    this.#guests.set(sandboxId, fresh);
    return fresh;
  }

  #runAgent(sandbox: Sandbox, inside: Guest, entry: Job): void {
    const { truth, chance } = this.#options;
    const { attemptId } = sandbox;
    const attempt = truth.of(attemptId);
    attempt.agentStarts += 1;
    attempt.agentStartedAt ??= this.#now();
    if (attempt.agentStarts > 1) truth.violate(`the agent of ${attemptId} was started twice`);
    truth.tell(`guest: the agent of ${attemptId} starts; it ${attempt.deed}`);
    const isAtOnce = chance.at(`at once ${attemptId}`) < AT_ONCE;
    const seconds = isAtOnce ? 0.5 : 5 + chance.at(`run ${attemptId}`) * 120;
    this.#after(sandbox, entry.job.wallSeconds, () => this.#end(entry, { end: 'wall-limit', exitCode: null }));
    if (attempt.deed === 'runsOut') return;
    this.#after(sandbox, seconds, () => {
      if (entry.result !== null) return;
      attempt.deedDoneAt = this.#now();
      truth.tell(`guest: the agent of ${attemptId} ${attempt.deed} now`);
      ACTS[attempt.deed]({
        inside,
        now: this.#now(),
        drawVerb: () => chance.pick(`stalled ${attemptId}`, STALLED_VERBS, 'stop'),
        end: (parts) => this.#end(entry, parts),
        shutDown: () => this.#shutDown(sandbox),
      });
    });
  }

  #shutDown({ sandboxId }: Sandbox): void {
    const { cloud } = this.#options;
    const machine = cloud.machines.get(sandboxId);
    if (machine !== undefined) cloud.shutDown(machine, 'agent');
  }

  async #collect(sandbox: Sandbox, inside: Guest, entry: Job): Promise<void> {
    const { truth } = this.#options;
    if (this.isAgentAlive(sandbox.sandboxId))
      truth.violate(`output of ${sandbox.attemptId} was collected while its agent was alive`);
    if (inside.isDiskFull) {
      const message = 'write /var/lib/examhall/jobs/manifest.json: ENOSPC: no space left on device';
      this.#after(sandbox, 3, () => this.#end(entry, { exitCode: 1, message }));
      return;
    }
    const isRefused = this.#isUploadRefused(sandbox);
    if (isRefused || inside.isCollectForged) {
      this.#after(sandbox, 3, () => this.#end(entry, { exitCode: 1, message: STORE_REFUSES }));
      return;
    }
    const sha256OfManifest = entry.job.kind === 'collect' ? await this.#upload(entry.job) : null;
    this.#after(sandbox, 5, () => this.#end(entry, { sha256OfManifest }));
  }

  /** Of a guest that nobody believes only as often as its state tries again. */
  #isUploadRefused({ attemptId }: Sandbox): boolean {
    const { chance, truth, isGuestBelieved } = this.#options;
    const { causes } = truth.of(attemptId);
    if (!isGuestBelieved && (causes.get('uploadFails') ?? 0) >= MOST_REFUSALS) return false;
    if (!chance.marks('uploadFails', attemptId)) return false;
    truth.strike('uploadFails', attemptId);
    return true;
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
