import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  GUEST_CONTRACT_VERSION,
  type ExecJob,
  type GuestAccount,
  type GuestIsolation,
  type GuestJob,
  type GuestMount,
  type GuestRunner,
  type JobResult,
  type JobStatus,
  type StopReport,
} from '#contracts/guest';
import { bundleGuestRunner, loadGuestRunner } from '#local/sandboxes/guest-bundle';

let bundled: Promise<string> | undefined;

/** The bundled runner, as it goes into a guest. */
export function guestRunner(): Promise<string> {
  bundled ??= bundleGuestRunner(path.join(os.tmpdir(), 'examhall-test-guest')).then((bundle) => bundle.path);
  return bundled;
}

/** The same file, loaded into this process. */
export async function loaded(): Promise<GuestRunner> {
  return loadGuestRunner(await guestRunner());
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one verb as its own process, with nothing of this process's environment but PATH. */
export async function runnerCli(args: readonly string[], input = ''): Promise<CliResult> {
  const runner = await guestRunner();
  const child = spawn(process.execPath, [runner, ...args], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
}

let uidsGiven = 0;

/** An account nobody else on this computer has, also not another test worker. */
export function testAccount(home = '/'): GuestAccount {
  uidsGiven += 1;
  const uid = 1_900_100_000 + (process.pid % 20_000) * 100 + uidsGiven;
  return { name: 'agent', uid, gid: uid, home };
}

const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64'].filter((folder) => existsSync(folder));

/** A namespace that shows programs and the given folders. */
export function walls(mounts: readonly GuestMount[] = []): GuestIsolation {
  const system = SYSTEM.map((folder) => ({ source: folder, target: folder, readOnly: true }));
  return { kind: 'namespaces', hostname: 'test', mounts: [...system, ...mounts] };
}

/** A scratch folder with a jobs folder in it, and the runner's verbs over it. */
export class JobsKit {
  readonly root: string;
  readonly jobsDir: string;
  #count = 0;

  constructor() {
    this.root = mkdtempSync(path.join(os.tmpdir(), 'examhall-guest-'));
    chmodSync(this.root, 0o711);
    this.jobsDir = path.join(this.root, 'jobs');
    mkdirSync(this.jobsDir, { mode: 0o700 });
  }

  /** A folder of the account's own. */
  folder(name: string, account: GuestAccount | null): string {
    const folder = path.join(this.root, name);
    mkdirSync(folder);
    const uid = account?.uid ?? null;
    if (uid !== null) chownSync(folder, uid, account?.gid ?? uid);
    return folder;
  }

  /** A shell job without walls or account, unless told otherwise. */
  shell(script: string, overrides: Partial<ExecJob> = {}): ExecJob {
    this.#count += 1;
    return {
      version: GUEST_CONTRACT_VERSION,
      jobId: `job-${this.#count}`,
      kind: 'exec',
      wallSeconds: 20,
      account: null,
      isolation: { kind: 'none' },
      argv: ['/bin/sh', '-c', script],
      env: {},
      cwd: '/',
      stdin: null,
      outputLimitMiB: 4,
      ...overrides,
    };
  }

  /** Starts a supervisor of its own session and tells whether it took the job. */
  async start(job: GuestJob): Promise<boolean> {
    const child = spawn(process.execPath, [await guestRunner(), 'start', this.jobsDir, '--attached'], {
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    child.stdin.end(JSON.stringify(job));
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (text: Buffer) => resolve(text.toString()));
      child.once('close', () => reject(new Error(`start failed: ${stderr}`)));
    });
    child.unref();
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
    return (JSON.parse(line) as { started: boolean }).started;
  }

  async wait(jobId: string): Promise<JobResult> {
    const result = await (await loaded()).wait(this.jobsDir, jobId, { timeoutSeconds: 25 });
    if (result === undefined) throw new Error(`job ${jobId} did not end in 25 s`);
    return result;
  }

  async run(job: GuestJob): Promise<JobResult> {
    await this.start(job);
    return this.wait(job.jobId);
  }

  async stop(jobId: string, uid: number | null = null): Promise<StopReport> {
    return (await loaded()).stop(this.jobsDir, jobId, uid);
  }

  async status(jobId: string): Promise<JobStatus> {
    return (await loaded()).status(this.jobsDir, jobId);
  }

  read(jobId: string, name: string): string {
    return readFileSync(path.join(this.jobsDir, jobId, name), 'utf8');
  }

  /** Ends whatever a failed test has left, and removes the folder. */
  async remove(): Promise<void> {
    await (await loaded()).close(this.jobsDir, null);
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Pids of living processes with this uid in the host's process table, seen with eyes of the test's own. */
export function livingPidsOf(uid: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      const uids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
      return uids.includes(uid) && !/^State:\s+[ZX]/m.test(status) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/** Waits until something is true. */
export async function until(what: () => boolean | Promise<boolean>, limitSeconds = 15): Promise<void> {
  const end = Date.now() + limitSeconds * 1000;
  while (!(await what())) {
    if (Date.now() > end) throw new Error(`not true within ${limitSeconds} s: ${what.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
