import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import {
  GUEST_CONTRACT_VERSION,
  type GuestAccount,
  type GuestJob,
  type JobEnd,
  type JobResult,
  type JobStatus,
} from '#contracts/guest';
import { isJobId, JobInputError, parseJob } from './job-input.ts';
import { uniqueSuffix } from './lazy-builtins.ts';
import type { ProcessIdentity, ProcessTable } from './process-table.ts';
import { syncFolder, whileBusy } from './windows-files.ts';

/**
 * What a later `stop` needs when the supervisor is gone. With a namespace it is written before anything of the agent runs;
 * without one the launcher is the command itself.
 */
export interface LaunchNote {
  readonly launcher: ProcessIdentity;
  readonly namespace: NamespaceNote | null;
  /** Folder of the control group that everything of the job is born in, where there is one. */
  readonly group?: string;
  /** On Windows the account whose console session runs the job, and the start of the job as a file time. */
  readonly session?: { readonly account: string; readonly since: string };
}

export interface NamespaceNote {
  /** `pid:[<inode>]`; the number is given out again once the namespace is gone, so it says something only while `init` lives. */
  readonly pidNamespace: string;
  readonly init: ProcessIdentity;
}

interface SupervisorNote extends ProcessIdentity {
  readonly startedAtIso: string;
}

/** A folder with this file in it takes no more jobs. */
const CLOSED = '.closed';
/** Held back from the start, so that a job that fills the disk cannot keep its own end from being written down. */
const RESERVE = '.reserve';
const RESERVE_BYTES = 64 * 1024;

/** One job's folder: `job.json`, `stdout`, `stderr`, `supervisor.pid`, `launch.json`, `result.json` (last). */
export class JobFolder {
  readonly path: string;
  readonly jobsDir: string;
  readonly jobId: string;

  constructor(jobsDir: string, jobId: string) {
    if (!isJobId(jobId)) throw new JobInputError(`job id ${JSON.stringify(jobId)} is not 1 to 240 of A-Za-z0-9._~-`);
    this.jobsDir = jobsDir;
    this.jobId = jobId;
    this.path = path.join(jobsDir, jobId);
  }

  /**
   * Puts the folder in place, complete, in one step: of several callers exactly one gets `true`, and a folder that is
   * there names its supervisor. @throws when the jobs folder is missing, which nobody makes anew.
   */
  publish(job: GuestJob, supervisor: ProcessIdentity, now: Date): boolean {
    if (existsSync(this.path) || this.isClosed()) return false;
    const draft = path.join(this.jobsDir, `.${uniqueSuffix()}`);
    mkdirSync(draft, { mode: 0o700 });
    try {
      writeFileSync(path.join(draft, 'job.json'), JSON.stringify(job), { mode: 0o600 });
      const note: SupervisorNote = { ...supervisor, startedAtIso: now.toISOString() };
      writeFileSync(path.join(draft, 'supervisor.pid'), JSON.stringify(note), { mode: 0o600 });
      writeFileSync(path.join(draft, RESERVE), Buffer.alloc(RESERVE_BYTES, 1), { mode: 0o600 });
      whileBusy(() => this.#takePlace(draft));
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return false;
      throw error;
    }
    return true;
  }

  /** Windows says of a folder that is there already only that it refuses. */
  #takePlace(draft: string): void {
    try {
      renameSync(draft, this.path);
    } catch (error) {
      throw this.exists() && codeOf(error) === 'EPERM'
        ? Object.assign(new Error(this.path), { code: 'EEXIST' })
        : error;
    }
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  isClosed(): boolean {
    return existsSync(path.join(this.jobsDir, CLOSED));
  }

  static close(jobsDir: string): void {
    writeFileSync(path.join(jobsDir, CLOSED), '', { mode: 0o600 });
  }

  job(): GuestJob | undefined {
    const text = this.#read('job.json');
    return text === undefined ? undefined : parseJob(text);
  }

  account(): GuestAccount | null {
    return this.job()?.account ?? null;
  }

  supervisor(): SupervisorNote | undefined {
    return this.#readJson<SupervisorNote>('supervisor.pid');
  }

  noteLaunch(note: LaunchNote): void {
    const draft = this.fileAt(`.launch-${uniqueSuffix()}`);
    try {
      writeFileSync(draft, JSON.stringify(note), { mode: 0o600 });
      whileBusy(() => renameSync(draft, this.fileAt('launch.json')));
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  }

  launch(): LaunchNote | undefined {
    return this.#readJson<LaunchNote>('launch.json');
  }

  result(): JobResult | undefined {
    return this.#readJson<JobResult>('result.json');
  }

  /** Ends the job's record: takes the secrets out and writes the result, unless there is one, which stays. */
  finish(result: JobResult): JobResult {
    rmSync(this.fileAt(RESERVE), { force: true });
    try {
      this.#scrub();
    } catch {
      rmSync(this.fileAt('job.json'), { force: true });
    }
    this.#writeResult(result);
    return this.result() ?? result;
  }

  #writeResult(result: JobResult): void {
    const draft = this.fileAt(`.result-${uniqueSuffix()}`);
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeSync(file, JSON.stringify(result));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    try {
      whileBusy(() => linkSync(draft, this.fileAt('result.json')));
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return;
      throw error;
    } finally {
      whileBusy(() => unlinkSync(draft));
    }
    syncFolder(this.path);
  }

  /** Leaves nothing in `job.json` with which files could be read or written. */
  #scrub(): void {
    const job = this.job();
    if (job === undefined) return;
    const draft = this.fileAt('.job-scrubbed');
    writeFileSync(draft, JSON.stringify(withoutSecrets(job)), { mode: 0o600 });
    whileBusy(() => renameSync(draft, this.fileAt('job.json')));
  }

  fileAt(name: string): string {
    return path.join(this.path, name);
  }

  status(table: ProcessTable): JobStatus {
    const result = this.result();
    if (result !== undefined) return { state: 'finished', result };
    const supervisor = this.supervisor();
    if (supervisor === undefined) return { state: 'unknown' };
    if (table.seemsAlive(supervisor)) return { state: 'running', startedAt: supervisor.startedAtIso };
    // It may have written its result and ended since the first look.
    const late = this.result();
    return late === undefined ? { state: 'unknown' } : { state: 'finished', result: late };
  }

  /** A descriptor to read a text from; the file has no name any more and only this job's command can open it again. */
  openInput(text: string): number {
    const file = this.fileAt('.stdin');
    writeFileSync(file, text, { mode: 0o644, flag: 'wx' });
    const descriptor = openSync(file, 'r');
    whileBusy(() => unlinkSync(file));
    return descriptor;
  }

  readFile(name: string): string {
    return readFileSync(this.fileAt(name), 'utf8');
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(this.fileAt(name), 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
      throw error;
    }
  }

  /** Undefined for a note that a full disk cut off too: what it would have told has to be found without it. */
  #readJson<T>(name: string): T | undefined {
    const text = this.#read(name);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as T);
    } catch {
      return undefined;
    }
  }
}

/** The `code` of a system error. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

function withoutSecrets(job: GuestJob): GuestJob {
  switch (job.kind) {
    case 'exec':
      return { ...job, env: Object.fromEntries(Object.keys(job.env).map((name) => [name, ''])), stdin: null };
    case 'fetch':
      return { ...job, listUrl: withoutQuery(job.listUrl) };
    case 'collect':
      return { ...job, grant: { url: withoutQuery(job.grant.url), fields: {}, keyPrefix: job.grant.keyPrefix } };
  }
}

export interface ResultParts {
  readonly end: JobEnd;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly confirmedDead: boolean;
  readonly survivors: number;
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly message?: string | null;
  readonly output?: Pick<JobResult, 'stdoutBytes' | 'stderrBytes' | 'stdoutTruncated' | 'stderrTruncated'>;
  readonly transfer?: Pick<JobResult, 'transferredFiles' | 'transferredBytes' | 'sha256OfManifest'>;
}

export function buildResult(jobId: string, parts: ResultParts): JobResult {
  return {
    version: GUEST_CONTRACT_VERSION,
    jobId,
    end: parts.end,
    exitCode: parts.exitCode ?? null,
    signal: parts.signal ?? null,
    startedAt: parts.startedAt.toISOString(),
    endedAt: parts.endedAt.toISOString(),
    durationSeconds: Math.max(0, (parts.endedAt.getTime() - parts.startedAt.getTime()) / 1000),
    ...(parts.output ?? { stdoutBytes: 0, stderrBytes: 0, stdoutTruncated: false, stderrTruncated: false }),
    confirmedDead: parts.confirmedDead,
    survivors: parts.survivors,
    message: parts.message ?? null,
    ...(parts.transfer ?? { transferredFiles: 0, transferredBytes: 0, sha256OfManifest: null }),
  };
}
