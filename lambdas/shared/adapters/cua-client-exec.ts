import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CuaOs } from '#core/cua/keys';
import * as posix from '#core/cua/posix-shell';
import * as windows from '#core/cua/windows-shell';
import { CuaCommandError, CuaTransportError } from './cua-client-errors.ts';
import type { CuaFiles } from './cua-client-files.ts';

export interface ExecOptions {
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal;
  /** Of each output; more is cut off. 16 MiB unless told. */
  readonly outputLimitBytes?: number;
}

export interface ExecResult {
  /** As the shell gives it (128 + n after signal n on Linux and macOS); null when its time was over. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** What running commands needs of the client it belongs to. */
export interface ExecHost {
  readonly url: string;
  readonly osType: CuaOs;
  readonly files: CuaFiles;
  call(
    command: string,
    params?: Readonly<Record<string, unknown>>,
    options?: { readonly timeoutSeconds?: number; readonly signal?: AbortSignal },
  ): Promise<Record<string, unknown>>;
}

/** Longer commands than this do not hold a connection: their answer would be lost with it. */
const FOREGROUND_SECONDS = 60;
const OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024;
/** A command line on Linux may be 128 KiB long; the script around it needs its share. */
const FOREGROUND_CHARACTERS = 32_000;
const POLL_SECONDS = [0.25, 0.5, 1, 1, 2, 3, 5];
const LAST_POLL_SECONDS = 10;
/** How long past its time a detached command may take to say that it ended. */
const GRACE_SECONDS = 30;

/** Runs a shell command once, in the foreground when it is short. */
export async function execCommand(host: ExecHost, command: string, options: ExecOptions): Promise<ExecResult> {
  if (!Number.isFinite(options.timeoutSeconds) || options.timeoutSeconds <= 0) {
    throw new RangeError(`timeoutSeconds is ${options.timeoutSeconds}; allowed: above 0`);
  }
  const isShort = options.timeoutSeconds <= FOREGROUND_SECONDS && command.length <= FOREGROUND_CHARACTERS;
  if (host.osType === 'android') return direct(host, command, options);
  if (host.osType === 'windows') {
    return isShort && windows.fitsCommandLine(command)
      ? direct(host, windows.windowsForeground(command), options)
      : detached(host, command, options);
  }
  return isShort ? foreground(host, command, options) : detached(host, command, options);
}

/** As the server itself runs it. */
async function direct(host: ExecHost, command: string, { timeoutSeconds, signal }: ExecOptions): Promise<ExecResult> {
  const fields = await host
    .call('run_command', { command, timeout: timeoutSeconds }, { timeoutSeconds, ...(signal ? { signal } : {}) })
    .catch((error: unknown) => {
      // A failed call that has a return code is a command that ran.
      if (error instanceof CuaCommandError && typeof error.fields['return_code'] === 'number') return error.fields;
      throw error;
    });
  const text = (key: string): string => (typeof fields[key] === 'string' ? fields[key] : '');
  const timedOut = fields['success'] === false && /^Command timed out\b/.test(text('stderr'));
  const code = fields['return_code'];
  return {
    exitCode: timedOut || typeof code !== 'number' ? null : code,
    stdout: text('stdout'),
    stderr: text('stderr'),
    timedOut,
  };
}

async function foreground(host: ExecHost, command: string, options: ExecOptions): Promise<ExecResult> {
  const { timeoutSeconds, signal, outputLimitBytes = OUTPUT_LIMIT_BYTES } = options;
  const script = posix.posixForeground(command, { timeoutSeconds, outputLimitBytes });
  const limits = { timeoutSeconds: timeoutSeconds + 10, ...(signal ? { signal } : {}) };
  return readReport(host, await host.call('run_command', { command: script }, limits));
}

function readReport(host: ExecHost, fields: Record<string, unknown>): ExecResult {
  const stdout = typeof fields['stdout'] === 'string' ? fields['stdout'] : '';
  const [code = '', state = '', out = '', err = ''] = stdout.split('\n');
  if (!/^\d+$/.test(code)) {
    const at = { url: host.url, command: 'run_command', isRepeatable: false };
    throw new CuaCommandError(
      at,
      `the shell could not set the command up: ${String(fields['stderr'])} ${stdout}`,
      fields,
    );
  }
  const timedOut = state === 'timeout';
  const decode = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
  return { exitCode: timedOut ? null : Number(code), stdout: decode(out), stderr: decode(err), timedOut };
}

async function detached(host: ExecHost, command: string, options: ExecOptions): Promise<ExecResult> {
  const { timeoutSeconds, signal, outputLimitBytes = OUTPUT_LIMIT_BYTES } = options;
  const job = host.osType === 'windows' ? windowsJob() : posixJob();
  const run = async (script: string): Promise<string> => {
    const fields = await host.call('run_command', { command: script }, { timeoutSeconds: 30 });
    return typeof fields['stdout'] === 'string' ? fields['stdout'].trim() : '';
  };
  await host.files.createDir(job.folder);
  for (const [name, text] of job.stage(command, timeoutSeconds)) {
    await host.files.upload(`${job.folder}${job.separator}${name}`, Buffer.from(text, 'utf8'));
  }
  try {
    await run(job.launch);
    await waitForEnd(host, () => run(job.probe), timeoutSeconds, signal);
    return await job.collect(host, outputLimitBytes);
  } catch (error) {
    await run(job.kill).catch(() => undefined);
    throw error;
  } finally {
    await run(job.remove).catch(() => undefined);
  }
}

async function waitForEnd(
  host: ExecHost,
  probe: () => Promise<string>,
  timeoutSeconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const at = { url: host.url, command: 'run_command (detached)', isRepeatable: false };
  const givenUpAt = performance.now() + (timeoutSeconds + GRACE_SECONDS) * 1_000;
  let fault: unknown;
  for (let turn = 0; performance.now() < givenUpAt; turn += 1) {
    await sleep((POLL_SECONDS[turn] ?? LAST_POLL_SECONDS) * 1_000, undefined, signal ? { signal } : {}).catch(
      () => undefined,
    );
    if (signal?.aborted)
      throw new CuaTransportError(at, 'aborted', 'the command was given up and killed', signal.reason);
    // A probe may fail for a while (a busy server, a cut line): the command goes on regardless.
    const state = await probe().catch((error: unknown) => void (fault = error));
    if (state === 'done') return;
    if (state === 'lost')
      throw new CuaTransportError(at, 'lost', 'the command and its supervisor are gone without a result');
  }
  throw new CuaTransportError(at, 'lost', `no result within ${timeoutSeconds + GRACE_SECONDS} s`, fault);
}

interface DetachedJob {
  readonly folder: string;
  readonly separator: string;
  readonly launch: string;
  readonly probe: string;
  readonly kill: string;
  readonly remove: string;
  stage(command: string, timeoutSeconds: number): readonly (readonly [string, string])[];
  collect(host: ExecHost, outputLimitBytes: number): Promise<ExecResult>;
}

const jobName = (): string => `examhall_job_${randomBytes(8).toString('hex')}`;

function posixJob(): DetachedJob {
  const folder = `/tmp/${jobName()}`;
  return {
    folder,
    separator: '/',
    launch: posix.posixLaunch(folder),
    probe: posix.posixProbe(folder),
    kill: posix.posixKill(folder),
    remove: posix.posixRemove(folder),
    stage: (command, timeoutSeconds) => [
      ['cmd.sh', command],
      ['supervise.sh', posix.posixSupervisor(folder, timeoutSeconds)],
    ],
    collect: async (host, outputLimitBytes) => {
      const command = posix.posixCollect(folder, outputLimitBytes);
      return readReport(host, await host.call('run_command', { command }, { timeoutSeconds: 60 }));
    },
  };
}

function windowsJob(): DetachedJob {
  const folder = `C:\\Windows\\Temp\\${jobName()}`;
  return {
    folder,
    separator: '\\',
    launch: windows.windowsLaunch(folder),
    probe: windows.windowsProbe(folder),
    kill: windows.windowsKill(folder),
    remove: windows.windowsRemove(folder),
    stage: (command, timeoutSeconds) => [
      ...(windows.fitsCommandLine(command) ? [] : [['cmd.bat', windows.windowsBatch(command)] as const]),
      ['in', ''],
      [
        'supervise.ps1',
        `\ufeff${windows.windowsSupervisor(folder, timeoutSeconds, windows.windowsRun(folder, command))}`,
      ],
    ],
    collect: async ({ files }, outputLimitBytes) => {
      const read = async (name: string): Promise<string> => {
        const bytes = await files.download(`${folder}\\${name}`, outputLimitBytes);
        return new TextDecoder().decode(bytes);
      };
      const timedOut = await files.fileExists(`${folder}\\timeout`);
      const code = Number.parseInt(await read('rc'), 10);
      return { exitCode: timedOut ? null : code, stdout: await read('out'), stderr: await read('err'), timedOut };
    },
  };
}
