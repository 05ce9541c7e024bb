import { spawn } from 'node:child_process';
import { appendFile, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32, deflateSync } from 'node:zlib';

type Params = Readonly<Record<string, unknown>>;
type Handler = (params: Params, env: NodeJS.ProcessEnv) => Promise<Record<string, unknown>> | Record<string, unknown>;

const GUI = [
  ...['move_cursor', 'left_click', 'right_click', 'double_click', 'mouse_down', 'mouse_up', 'scroll', 'press_key'],
  ...['key_down', 'key_up', 'hotkey', 'type_text', 'set_clipboard'],
];

const text = (params: Params, key: string): string => {
  const value = params[key];
  if (typeof value !== 'string') throw new TypeError(`missing 1 required positional argument: '${key}'`);
  return value.startsWith('~/') ? path.join(process.env['HOME'] ?? '/', value.slice(2)) : value;
};

const statOf = (file: string) => stat(file).catch(() => undefined);

const HANDLERS: Readonly<Record<string, Handler>> = {
  version: () => ({ protocol: 1, package: '0.3.46' }),
  file_exists: async (params) => ({ exists: (await statOf(text(params, 'path')))?.isFile() === true }),
  directory_exists: async (params) => ({ exists: (await statOf(text(params, 'path')))?.isDirectory() === true }),
  get_file_size: async (params) => ({ size: (await stat(text(params, 'path'))).size }),
  list_dir: async (params) => ({ files: await readdir(text(params, 'path')) }),
  create_dir: async (params) => {
    await mkdir(text(params, 'path'), { recursive: true });
    return {};
  },
  delete_file: async (params) => {
    await rm(text(params, 'path'));
    return {};
  },
  read_bytes: async (params) => ({ content_b64: (await readRange(params)).toString('base64') }),
  write_bytes: async (params) => {
    const content = Buffer.from(text(params, 'content_b64'), 'base64');
    await (params['append'] === true ? appendFile : writeFile)(text(params, 'path'), content);
    return {};
  },
  run_command: (params, env) => runShell(text(params, 'command'), params['timeout'], env),
  screenshot: () => ({ image_data: makePng(64, 48, [30, 80, 120]).toString('base64'), format: 'png' }),
  get_cursor_position: () => ({ position: { x: 10, y: 20 } }),
  copy_to_clipboard: () => ({ content: 'what was there' }),
  ...Object.fromEntries(GUI.map((name) => [name, () => ({})])),
};

/** Every command there is. */
export const CUA_COMMANDS: readonly string[] = Object.keys(HANDLERS);

/** Does what a command says; undefined for one that is not known. A failure is told as the real server tells it. */
export async function runCuaCommand(
  command: string,
  params: Params,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, unknown> | undefined> {
  const handler = HANDLERS[command];
  if (handler === undefined) return undefined;
  try {
    return await handler(params, env);
  } catch (error) {
    return { success: false, error: error instanceof Error ? error.message : String(error) };
  }
}

async function readRange(params: Params): Promise<Buffer> {
  const file = await open(text(params, 'path'));
  try {
    const size = (await file.stat()).size;
    const offset = Number(params['offset'] ?? 0);
    const length = Math.max(0, Math.min(Number(params['length'] ?? size), size - offset));
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer;
  } finally {
    await file.close();
  }
}

/** Waits for both pipes to end, as the real one does; at its time limit it kills the shell alone. */
function runShell(command: string, timeout: unknown, env: NodeJS.ProcessEnv): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'], env });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    const seconds = typeof timeout === 'number' ? timeout : 600;
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      const stderr = `Command timed out after ${seconds}s`;
      resolve({ success: false, stdout: '', stderr, return_code: -1 });
    }, seconds * 1000);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const stdout = Buffer.concat(out).toString('utf8');
      resolve({ stdout, stderr: Buffer.concat(err).toString('utf8'), return_code: signal === null ? code : -9 });
    });
  });
}

/** A picture of one colour. */
export function makePng(width: number, height: number, colour: readonly [number, number, number]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), ...Array.from({ length: width }, () => Buffer.from(colour))]);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), content]);
  const checkSum = Buffer.alloc(4);
  checkSum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checkSum]);
}
