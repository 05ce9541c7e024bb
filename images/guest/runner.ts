import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type {
  CollectJob,
  FetchJob,
  GuestAccount,
  GuestIsolation,
  GuestJob,
  GuestRunner,
  RpcCall,
} from '#contracts/guest';
import type { ListingRequest } from '#contracts/guest-listing';
import { collectAsAgent } from './collect.ts';
import { fetchFiles } from './fetch-files.ts';
import { closeJobs, statusOf, stopAsked, stopJob, waitFor } from './job-control.ts';
import { JobFolder } from './job-folder.ts';
import { parseBatch, parseJob } from './job-input.ts';
import { firstLine } from './job-output.ts';
import { launch } from './launch.ts';
import { listFolders } from './list-folders.ts';
import { INSIDE } from './namespace-script.ts';
import { ProcessTable } from './process-table.ts';
import { HELLO, hello, printable, runRequest } from './request.ts';
import { killRunningCommands, runCalls } from './rpc-commands.ts';
import { runBatch } from './rpc.ts';
import { startDetached } from './start-detached.ts';
import { supervise } from './supervise.ts';
import { WINDOWS_SESSION } from './windows-console.ts';
import { serveSession } from './windows-session.ts';

const table = new ProcessTable();

/** The verbs for a host that has loaded this file. */
export const guestRunner: GuestRunner = {
  status: async (jobsDir, jobId) => statusOf(new JobFolder(jobsDir, jobId), table),
  wait: (jobsDir, jobId, options) => waitFor(new JobFolder(jobsDir, jobId), table, options),
  firstLine: (jobsDir, jobId, options) => firstLine(new JobFolder(jobsDir, jobId), table, options),
  stop: (jobsDir, jobId, uid) => stopJob(new JobFolder(jobsDir, jobId), table, { uid, account: null }),
  close: (jobsDir, uid) => closeJobs(jobsDir, table, uid),
  rpc: (batch) => runBatch(batch, table),
  probe,
};

async function probe(account: GuestAccount | null, isolation: GuestIsolation): Promise<string | null> {
  // Node itself has to run there: it may need libraries that are not shown.
  const node = isolation.kind === 'namespaces' ? INSIDE.node : process.execPath;
  const argv = [node, '-e', 'process.exit(7)'];
  try {
    const launched = await launch(
      { argv, env: {}, cwd: '/', account, isolation, stdio: ['ignore', 'pipe', 'pipe'] },
      table,
    );
    launched.stdout?.resume();
    let trouble = '';
    launched.stderr?.on('data', (text: Buffer) => (trouble = (trouble + text.toString()).slice(0, 500)));
    const { exitCode, signal } = await launched.ended;
    launched.release();
    if (exitCode === 7) return null;
    return `Node cannot run behind the walls: it ended with ${signal ?? String(exitCode)}${trouble.trim() && `: ${trouble.trim()}`}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const USAGE = `usage: node runner.mjs start <jobsDir> [--attached]    the job as JSON on standard input
       node runner.mjs wait <jobsDir> <jobId> [--timeout <seconds>]
       node runner.mjs status <jobsDir> <jobId>
       node runner.mjs stop <jobsDir> <jobId> [--uid <uid>] [--account <name>]
       node runner.mjs close <jobsDir> [--uid <uid>]
       node runner.mjs rpc                             the batch as JSON on standard input
       node runner.mjs list                            folders and limits as JSON on standard input
       node runner.mjs session <spoolDir>              on Windows, in the session that has the screen
       node runner.mjs request <stateFolder> hello [--cua <url>]
       node runner.mjs request <stateFolder> <sealed request>`;

const CUA_URL = 'http://127.0.0.1:5000';

/** Exit codes: 0 done, 1 the input or the machine refused, 2 wrong command line, 4 `wait` ran out of time. */
async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      timeout: { type: 'string' },
      uid: { type: 'string' },
      account: { type: 'string' },
      attached: { type: 'boolean', default: false },
      cua: { type: 'string', default: CUA_URL },
    },
  });
  const [verb, jobsDir, jobId] = positionals;
  const uid = values.uid === undefined ? null : Number(values.uid);
  if (uid !== null && (!Number.isInteger(uid) || uid < 1)) return usage();
  if (verb === 'rpc') return print(await runBatch(parseBatch(await readInput()), table));
  if (verb === 'list') return print(await listFolders(JSON.parse(await readInput()) as ListingRequest));
  if (verb?.endsWith('-inside') === true) return runInside(verb);
  if (jobsDir === undefined) return usage();
  if (verb === 'start') return values.attached ? startAttached(jobsDir) : startAndLeave(jobsDir);
  if (verb === 'session') return serve(jobsDir);
  if (verb === 'close') return print(await closeJobs(jobsDir, table, uid));
  if (jobId === undefined) return usage();
  if (verb === 'request') return request(jobsDir, jobId, values.cua);
  const folder = new JobFolder(jobsDir, jobId);
  if (verb === 'status') return print(statusOf(folder, table));
  if (verb === 'stop') return print(await stopJob(folder, table, { uid, account: values.account ?? null }));
  if (verb !== 'wait') return usage();
  const result = await waitFor(
    folder,
    table,
    values.timeout === undefined ? {} : { timeoutSeconds: Number(values.timeout) },
  );
  if (result !== undefined) return print(result);
  print(statusOf(folder, table));
  return 4;
}

/** What runs as the account, behind the walls. */
async function runInside(verb: string): Promise<number> {
  if (verb === 'rpc-inside') return runCallsInside();
  const input = JSON.parse(await readInput()) as unknown;
  try {
    if (verb === 'fetch-inside') return print(await fetchFiles(input as FetchJob));
    if (verb === 'collect-inside') return print(await collectAsAgent(input as CollectJob));
  } catch (error) {
    print({ files: 0, bytes: 0, message: error instanceof Error ? error.message : String(error) });
    return 1;
  }
  return usage();
}

/** Takes one line, answers with one, and ends its commands early when the other side goes away. */
async function runCallsInside(): Promise<number> {
  const line = await firstLineOf(process.stdin);
  const leave = (): void => {
    killRunningCommands();
    process.exit(1);
  };
  process.stdin.once('close', leave).resume();
  const { calls, timeoutSeconds } = JSON.parse(line) as { calls: readonly RpcCall[]; timeoutSeconds: number };
  const answers = JSON.stringify(await runCalls(calls, timeoutSeconds));
  await new Promise<void>((resolve) => process.stdout.write(`${answers}\n`, () => resolve()));
  process.stdin.off('close', leave).destroy();
  return 0;
}

/** The first line of a stream that stays open; nothing comes after it. */
function firstLineOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      const end = chunk.indexOf(0x0a);
      chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
      if (end < 0) return;
      stream.off('data', take);
      resolve(Buffer.concat(chunks).toString('utf8'));
    };
    stream.on('data', take);
    stream.once('end', () => reject(new Error('the input ended inside its first line')));
  });
}

/** Becomes the job's supervisor; the caller has put it into a session of its own and reads one line. */
async function startAttached(jobsDir: string): Promise<number> {
  const stopped = once(process, 'SIGTERM');
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  for (const name of ['SIGHUP', 'SIGINT', 'SIGPIPE'] as const) process.on(name, () => undefined);
  const job: GuestJob = parseJob(await readInput());
  const self = table.identityOf(process.pid);
  if (self === undefined) throw new Error('this process is not in the process table');
  const folder = new JobFolder(jobsDir, job.jobId);
  const isMine = folder.publish(job, self, new Date());
  if (!isMine && !folder.exists()) throw new Error(`${jobsDir} takes no more jobs: the sandbox is being released`);
  await printAndClose({ jobId: job.jobId, started: isMine });
  const asked = process.platform === 'win32' ? Promise.race([stopped, stopAsked(folder)]) : stopped;
  if (isMine) await supervise(folder, job, table, asked);
  return 0;
}

async function startAndLeave(jobsDir: string): Promise<number> {
  process.stdout.write(await startDetached(jobsDir, await readInput()));
  return 0;
}

/** Done for whoever may start commands here; says nothing but who this guest is. */
async function request(stateFolder: string, sealed: string, cuaUrl: string): Promise<number> {
  if (sealed === HELLO) return print(await hello(stateFolder, cuaUrl));
  try {
    await runRequest(stateFolder, sealed, table);
    return 0;
  } catch (error) {
    process.stderr.write(`${printable(error)}\n`);
    return 1;
  }
}

/** The logon task of a Windows sandbox, as the agent; never ends. */
async function serve(spoolDir: string): Promise<number> {
  await serveSession({ ...WINDOWS_SESSION, spoolDir });
  return 0;
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function print(value: unknown): number {
  process.stdout.write(`${JSON.stringify(value)}\n`);
  return 0;
}

async function printAndClose(value: unknown): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.end(`${JSON.stringify(value)}\n`, resolve));
}

function usage(): number {
  process.stderr.write(`${USAGE}\n`);
  return 2;
}

const isProgram = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
if (isProgram) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}\n`);
    process.exitCode = 1;
  }
}
