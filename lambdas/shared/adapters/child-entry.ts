/**
 * Runs inside the child process of a module runner: loads one published module, calls one of its functions
 * and answers on file descriptor 3. It takes what it needs from the language before any foreign code is loaded.
 */
import { Socket } from 'node:net';
import type { FileReader, StartedService } from '#core/task-module';
import { taskPathsOf } from '#core/task-paths';
import { encodeFrame, encodeText, FrameDecoder, isRecord, type Frame } from './child-frames.ts';
import { createSession } from './child-session.ts';
import { describeThrown, encodeValue } from './child-value.ts';
import { closeWaysOut } from './child-ways-out.ts';

const MAX_FRAME_BYTES = 256 * 1024 * 1024;
const KEEP_ALIVE_MILLISECONDS = 60_000;

interface Waiter {
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: Error) => void;
}

const pipe = new Socket({ fd: 3, readable: true, writable: true });
closeWaysOut(pipe);
const write = pipe.write.bind(pipe);
const exit = process.exit.bind(process);
const waiters = new Map<number, Waiter>();
let nonce = '';
let lastId = 0;

function send(header: Readonly<Record<string, unknown>>, body?: Uint8Array): void {
  for (const part of encodeFrame({ ...header, nonce }, body)) write(part);
}

function ask(header: Readonly<Record<string, unknown>>): Promise<Frame> {
  lastId += 1;
  const id = lastId;
  return new Promise((resolve, reject) => {
    waiters.set(id, { resolve, reject });
    send({ ...header, id });
  });
}

function settle(frame: Frame): void {
  const id = Number(frame.header['id']);
  const waiter = waiters.get(id);
  waiters.delete(id);
  if (frame.header['ok'] === true) {
    waiter?.resolve(frame);
    return;
  }
  const error = new Error(String(frame.header['message']));
  error.name = String(frame.header['name']);
  waiter?.reject(error);
}

function fileReader(folder: string): FileReader {
  const read = (op: string, path: unknown, maxBytes?: number): Promise<Frame> =>
    ask({ kind: 'read', folder, op, path, ...(maxBytes === undefined ? {} : { maxBytes }) });
  return {
    exists: async (path) => (await read('exists', path)).header['value'] === true,
    sizeBytes: async (path) => Number((await read('sizeBytes', path)).header['value']),
    readBytes: async (path, maxBytes) => new Uint8Array((await read('read', path, maxBytes)).body),
    readText: async (path, maxBytes) => new TextDecoder().decode((await read('read', path, maxBytes)).body),
    list: async (path = '') => JSON.parse(Buffer.from((await read('list', path)).body).toString('utf8')) as string[],
  };
}

async function guestCall(
  command: string,
  params: Readonly<Record<string, unknown>>,
  timeoutSeconds: number,
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await ask({ kind: 'session', calls: [{ command, params }], timeoutSeconds });
  const results: unknown = JSON.parse(Buffer.from(answer.body).toString('utf8'));
  const first: unknown = Array.isArray(results) ? results[0] : undefined;
  return isRecord(first) ? first : { success: false, error: 'the guest gave no answer' };
}

async function startService(name: unknown, input: unknown = {}): Promise<StartedService> {
  return { port: Number((await ask({ kind: 'service', name, input })).header['port']) };
}

function argumentOf(start: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const input = isRecord(start['input']) ? { ...start['input'] } : {};
  const { os, dataRoot, taskId } = input;
  if (start['phase'] === 'load' && typeof dataRoot === 'string' && typeof taskId === 'string') {
    const guestOs = os === 'windows' ? 'windows' : 'linux';
    input['paths'] = (variantName: string) => taskPathsOf({ os: guestOs, dataRoot, taskId, variantName });
  }
  for (const folder of start['folders'] as string[]) input[folder] = fileReader(folder);
  input['session'] = start['hasSession'] === true ? createSession(guestCall) : null;
  if (start['hasServices'] === true) input['startService'] = startService;
  return input;
}

async function callModule(start: Readonly<Record<string, unknown>>): Promise<unknown> {
  const phase = String(start['phase']);
  const module = (await import(String(start['module']))) as Record<string, unknown>;
  const target = module[phase];
  if (typeof target !== 'function') {
    const error = new Error(`the module exports no function "${phase}"; it exports: ${Object.keys(module).join(', ')}`);
    error.name = 'MissingExportError';
    throw error;
  }
  return (await Reflect.apply(target, module, [argumentOf(start)])) as unknown;
}

async function main(start: Readonly<Record<string, unknown>>): Promise<void> {
  nonce = String(start['nonce']);
  send({ kind: 'ready' });
  // An awaited promise that nobody settles must meet the wall limit, not an empty event loop.
  setInterval(() => undefined, KEEP_ALIVE_MILLISECONDS);
  try {
    const { valueKind, text, message } = encodeValue(await callModule(start), Number(start['resultLimitBytes']));
    send({ kind: 'returned', valueKind, message }, encodeText(text));
  } catch (error) {
    const thrown = describeThrown(error);
    if (thrown.stack !== null) process.stderr.write(`${thrown.stack}\n`);
    send({ kind: 'threw', name: thrown.name, message: thrown.message });
  }
}

const decoder = new FrameDecoder(MAX_FRAME_BYTES);
let hasStarted = false;
pipe.on('data', (chunk: Buffer) => {
  for (const frame of decoder.push(chunk)) {
    // Whoever ends first loses what the other is still writing: the host does, once it has the answer.
    if (frame.header['kind'] === 'done') exit(0);
    else if (hasStarted) settle(frame);
    else {
      hasStarted = true;
      void main(frame.header);
    }
  }
});
pipe.on('error', () => exit(1));
pipe.on('end', () => exit(1));
