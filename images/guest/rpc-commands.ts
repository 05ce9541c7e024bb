import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { mkdir, open, readdir, readFile, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { GuestCommand, RpcCall, RpcResult } from '#contracts/guest';
import { signal } from './end-processes.ts';
import { closeWriteEnds, makePipes } from './named-pipe.ts';

type Params = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, unknown>>;

/** A command's output is kept up to this, each stream; what comes after is drained and flagged `truncated`. */
const OUTPUT_LIMIT_BYTES = 8 * 1024 * 1024;
/** One answer must stay well under what a function may return. */
const READ_LIMIT_BYTES = 64 * 1024 * 1024;

type Command = (params: Params, millisecondsLeft: number) => Promise<Fields>;

/** The guest RPC's own commands and result fields (without a screen). */
const commands: Readonly<Record<GuestCommand, Command>> = {
  version: async () => ({ protocol: 1, package: 'examhall' }),
  run_command: (params, millisecondsLeft) => runCommand(params, millisecondsLeft),
  file_exists: async (params) => ({ exists: (await statOf(params))?.isFile() === true }),
  directory_exists: async (params) => ({ exists: (await statOf(params))?.isDirectory() === true }),
  list_dir: listDir,
  read_text: async (params) => ({ content: decodeUtf8(await readWhole(pathOf(params))) }),
  write_text: async (params) => {
    await writeFile(pathOf(params), textParam(params, 'content'), 'utf8');
    return {};
  },
  read_bytes: readBytes,
  write_bytes: writeBytes,
  get_file_size: async (params) => ({ size: (await stat(pathOf(params))).size }),
  delete_file: async (params) => {
    await unlink(pathOf(params));
    return {};
  },
  create_dir: async (params) => {
    await mkdir(pathOf(params), { recursive: true });
    return {};
  },
  delete_dir: async (params) => {
    await rmdir(pathOf(params));
    return {};
  },
};

/** Process groups of the commands that run now. */
const runningGroups = new Set<number>();

/** Kills the commands that run now, with their groups. */
export function killRunningCommands(): void {
  for (const group of runningGroups) signal(-group, 'SIGKILL');
}

/** Runs calls in order as whoever runs this; a call that fails answers so, and calls without time left are not begun. */
export async function runCalls(calls: readonly RpcCall[], timeoutSeconds: number): Promise<RpcResult[]> {
  const until = Date.now() + timeoutSeconds * 1000;
  const results: RpcResult[] = [];
  for (const call of calls) results.push(await runCall(call, until - Date.now()));
  return results;
}

function isGuestCommand(name: string): name is GuestCommand {
  return Object.hasOwn(commands, name);
}

async function runCall(call: RpcCall, millisecondsLeft: number): Promise<RpcResult> {
  const command = isGuestCommand(call.command) ? commands[call.command] : undefined;
  if (command === undefined) {
    return failure(
      `Unknown command: ${call.command}. This sandbox knows ${Object.keys(commands).sort().join(', ')}; it has no screen.`,
    );
  }
  if (millisecondsLeft <= 0) return failure(`the batch's time was over before ${call.command} could begin`);
  try {
    return { success: true, ...(await command(call.params, millisecondsLeft)) };
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
}

function failure(error: string): RpcResult {
  return { success: false, error };
}

function textParam(params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw new TypeError(`${name} is ${JSON.stringify(value)}; it must be text`);
  return value;
}

function numberParam(params: Params, name: string): number | undefined {
  const value = params[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !(value >= 0)) {
    throw new TypeError(`${name} is ${JSON.stringify(value)}; it must be a number from 0`);
  }
  return value;
}

/** `~` is the account's home. */
function pathOf(params: Params): string {
  const text = textParam(params, 'path');
  return path.resolve(/^~(?:\/|$)/.test(text) ? path.join(os.homedir(), text.slice(1)) : text);
}

async function statOf(params: Params): Promise<Awaited<ReturnType<typeof stat>> | undefined> {
  return stat(pathOf(params)).catch(() => undefined);
}

/** Files and folders only: no sockets, devices, broken links. */
async function listDir(params: Params): Promise<Fields> {
  const folder = pathOf(params);
  const names = await readdir(folder);
  const files: string[] = [];
  for (const name of names.sort()) {
    const info = await stat(path.join(folder, name)).catch(() => undefined);
    if (info?.isFile() === true || info?.isDirectory() === true) files.push(name);
  }
  return { files };
}

async function readWhole(file: string): Promise<Buffer> {
  const info = await stat(file);
  if (info.isFile() && info.size > READ_LIMIT_BYTES) {
    throw new RangeError(
      `${file} has ${info.size} bytes; at most ${READ_LIMIT_BYTES} are read at once, use read_bytes with a length`,
    );
  }
  if (!info.isFile()) throw new TypeError(`${file} is not a regular file`);
  return readFile(file);
}

function decodeUtf8(content: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
}

async function readBytes(params: Params): Promise<Fields> {
  const file = pathOf(params);
  const offset = numberParam(params, 'offset') ?? 0;
  const length = numberParam(params, 'length');
  if (length === undefined && offset === 0) return { content_b64: (await readWhole(file)).toString('base64') };
  const info = await stat(file);
  if (!info.isFile()) throw new TypeError(`${file} is not a regular file`);
  const wanted = Math.max(0, Math.min(length ?? Infinity, info.size - offset));
  if (wanted > READ_LIMIT_BYTES)
    throw new RangeError(`length is ${wanted}; at most ${READ_LIMIT_BYTES} bytes are read at once`);
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(wanted), 0, wanted, offset);
    return { content_b64: buffer.subarray(0, bytesRead).toString('base64') };
  } finally {
    await handle.close();
  }
}

async function writeBytes(params: Params): Promise<Fields> {
  const content = Buffer.from(textParam(params, 'content_b64'), 'base64');
  await writeFile(pathOf(params), content, { flag: params['append'] === true ? 'a' : 'w' });
  return {};
}

/** A fresh shell for each call. Exit status is `return_code`; a call that takes too long is killed with its group. */
async function runCommand(params: Params, millisecondsLeft: number): Promise<Fields> {
  const command = textParam(params, 'command');
  const wanted = numberParam(params, 'timeout');
  const limit = Math.min(millisecondsLeft, wanted === undefined ? Infinity : wanted * 1000);
  const { child, streams } = startShell(command);
  if (child.pid !== undefined && process.platform !== 'win32') runningGroups.add(child.pid);
  const stdout = collectText(streams[0]);
  const stderr = collectText(streams[1]);
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    killCommand(child);
    for (const stream of streams) stream.destroy();
  }, limit);
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode, name) => resolve(exitCode ?? -os.constants.signals[name ?? 'SIGKILL']));
  });
  const [code] = await Promise.all([ended, stdout.closed, stderr.closed]).finally(() => {
    clearTimeout(timer);
    runningGroups.delete(child.pid ?? 0);
  });
  const output = { stdout: stdout.text(), stderr: stderr.text() };
  if (late.signal.aborted) {
    const error = `Command timed out after ${limit / 1000}s`;
    return { ...output, success: false, stderr: `${output.stderr}${error}`, return_code: -1, error };
  }
  const truncated = stdout.isTruncated() || stderr.isTruncated();
  return { ...output, return_code: code, ...(truncated ? { truncated } : {}) };
}

function killCommand(child: ChildProcess): void {
  if (process.platform === 'win32') child.kill('SIGKILL');
  else if (child.pid !== undefined) signal(-child.pid, 'SIGKILL');
}

function startShell(command: string): { child: ChildProcess; streams: readonly [Readable, Readable] } {
  if (process.platform === 'win32') {
    const child = spawn('cmd.exe', ['/d', '/s', '/c', `"${command}"`], {
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsVerbatimArguments: true,
    });
    return { child, streams: [child.stdout, child.stderr] };
  }
  const pipes = makePipes(os.tmpdir(), 2);
  const [stdout, stderr] = pipes;
  if (stdout === undefined || stderr === undefined) throw new Error('no pipes');
  try {
    const stdio: StdioOptions = ['ignore', stdout.writeFd, stderr.writeFd];
    const child = spawn('/bin/sh', ['-c', command], { stdio, detached: true });
    return { child, streams: [stdout.readEnd, stderr.readEnd] };
  } finally {
    closeWriteEnds(pipes);
  }
}

function collectText(stream: Readable): { readonly closed: Promise<void>; text(): string; isTruncated(): boolean } {
  const chunks: Buffer[] = [];
  let kept = 0;
  let seen = 0;
  stream.on('data', (chunk: Buffer) => {
    seen += chunk.length;
    const part = chunk.subarray(0, OUTPUT_LIMIT_BYTES - kept);
    kept += part.length;
    if (part.length > 0) chunks.push(part);
  });
  stream.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  return { closed, text: () => Buffer.concat(chunks).toString('utf8'), isTruncated: () => seen > kept };
}
