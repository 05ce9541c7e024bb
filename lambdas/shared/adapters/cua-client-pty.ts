import http from 'node:http';
import https from 'node:https';
import { CuaRequestError, CuaTransportError, type CuaAddress } from './cua-client-errors.ts';
import type { CuaEndpoint } from './cua-client-http.ts';

export interface PtyOptions {
  /** A line for the server's shell; its default is bash, or PowerShell on Windows. */
  readonly command?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cols?: number;
  readonly rows?: number;
}

export interface PtyStarted {
  readonly pid: number;
  readonly cols: number;
  readonly rows: number;
}

export interface PtyListener {
  output(bytes: Buffer): void;
  /** As the server says it; it has no word for a code that it does not know and says 0. */
  exit(code: number): void;
}

/**
 * The terminals of a cua-server. It keeps no output: what a terminal writes before `follow` has resolved is lost, and whoever
 * follows a terminal that has ended hears nothing, for ever.
 */
export interface CuaPty {
  start(options: PtyOptions): Promise<PtyStarted>;
  input(pid: number, bytes: Uint8Array): Promise<void>;
  resize(pid: number, cols: number, rows: number): Promise<void>;
  /** Kills the terminal's first process. */
  kill(pid: number): Promise<void>;
  /** Resolves when the server has begun to pass output on; `ended` rejects when the stream was cut before an exit. */
  follow(pid: number, listener: PtyListener, signal: AbortSignal): Promise<{ readonly ended: Promise<void> }>;
}

const ANSWER_BYTES = 1024 * 1024;
/** The server hands each piece to the terminal in one write, which takes no more than the terminal has room for. */
const INPUT_PIECE_BYTES = 1024;

export function createCuaPty(endpoint: CuaEndpoint, { deadlineSeconds = 28 } = {}): CuaPty {
  const open = (method: string, path: string, body: unknown, signal: AbortSignal): Promise<http.IncomingMessage> =>
    openRequest(endpoint, { method, path, body, signal });
  const ask = async (method: string, path: string, body?: unknown): Promise<string> => {
    const at = addressOf(endpoint, method, path);
    try {
      const response = await open(method, path, body, AbortSignal.timeout(deadlineSeconds * 1_000));
      const text = await readAll(response);
      if (response.statusCode !== 200) throw new CuaRequestError(at, response.statusCode ?? 0, text);
      return text;
    } catch (error) {
      throw asTransportError(at, error, `no answer within ${deadlineSeconds} s`);
    }
  };
  return {
    start: async ({ env, ...options }) => {
      const text = await ask('POST', '/pty', { ...options, ...(env === undefined ? {} : { envs: env }) });
      return readStarted(addressOf(endpoint, 'POST', '/pty'), text);
    },
    input: async (pid, bytes) => {
      for (let from = 0; from < bytes.length; from += INPUT_PIECE_BYTES) {
        const piece = Buffer.from(bytes.subarray(from, from + INPUT_PIECE_BYTES));
        await ask('POST', `/pty/${pid}/stdin`, { data: piece.toString('base64') });
      }
    },
    resize: async (pid, cols, rows) => {
      await ask('POST', `/pty/${pid}/resize`, { cols, rows });
    },
    kill: async (pid) => {
      await ask('DELETE', `/pty/${pid}`);
    },
    follow: async (pid, listener, signal) => {
      const path = `/pty/${pid}/stream`;
      const at = addressOf(endpoint, 'GET', path);
      const opening = new AbortController();
      const timer = setTimeout(() => opening.abort(), deadlineSeconds * 1_000);
      const response = await open('GET', path, undefined, AbortSignal.any([opening.signal, signal]))
        .catch((error: unknown) => {
          throw asTransportError(at, error, 'the stream did not open');
        })
        .finally(() => clearTimeout(timer));
      if (response.statusCode !== 200) throw new CuaRequestError(at, response.statusCode ?? 0, await readAll(response));
      return { ended: readStream(at, response, listener) };
    },
  };
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/** Sends a request on a connection of its own; resolves with the answer's head. */
function openRequest(endpoint: CuaEndpoint, { method, path, body, signal }: Request): Promise<http.IncomingMessage> {
  const base = new URL(endpoint.url);
  const text = body === undefined ? '' : JSON.stringify(body);
  const options: http.RequestOptions = {
    ...(endpoint.socketPath ? { socketPath: endpoint.socketPath } : {}),
    hostname: base.hostname.replace(/^\[|\]$/g, ''),
    port: base.port === '' ? null : base.port,
    method,
    path: `${base.pathname.replace(/\/$/, '')}${path}`,
    agent: false,
    signal,
    headers: {
      host: base.host,
      ...(text === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    },
  };
  return new Promise((resolve, reject) => {
    const request = (base.protocol === 'https:' ? https : http).request(options, resolve);
    request.once('error', reject);
    request.end(text);
  });
}

async function readAll(response: http.IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const part of response) {
    text += String(part);
    if (text.length > ANSWER_BYTES) throw new RangeError(`the answer is longer than ${ANSWER_BYTES} characters`);
  }
  return text;
}

/** Hands on what the stream says until an exit. */
async function readStream(at: CuaAddress, response: http.IncomingMessage, listener: PtyListener): Promise<void> {
  let rest = '';
  response.setEncoding('utf8');
  try {
    for await (const part of response) {
      const lines = `${rest}${String(part)}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (handOn(line, listener)) return;
    }
  } catch (error) {
    throw asTransportError(at, error, 'the stream was cut');
  }
  throw new CuaTransportError(at, 'cut', 'the stream ended before the terminal did');
}

/** True when the line says that the terminal has ended. Lines that are no event say nothing. */
function handOn(line: string, listener: PtyListener): boolean {
  const event = line.startsWith('data:') ? parseEvent(line.slice('data:'.length)) : null;
  if (event?.type === 'output' && typeof event.data === 'string') listener.output(Buffer.from(event.data, 'base64'));
  if (event?.type !== 'exit') return false;
  listener.exit(typeof event.code === 'number' ? event.code : 0);
  return true;
}

function parseEvent(text: string): { type?: unknown; data?: unknown; code?: unknown } | null {
  try {
    return JSON.parse(text) as { type?: unknown } | null;
  } catch {
    return null;
  }
}

function readStarted(at: CuaAddress, text: string): PtyStarted {
  const { pid, cols, rows } = (parseEvent(text) ?? {}) as Partial<PtyStarted>;
  if (Number.isInteger(pid) && Number.isInteger(cols) && Number.isInteger(rows))
    return { pid, cols, rows } as PtyStarted;
  throw new CuaTransportError(at, 'broken', `the answer names no terminal: ${text.slice(0, 200)}`);
}

function addressOf({ url }: CuaEndpoint, method: string, path: string): CuaAddress {
  return { url, command: `${method} ${path}`, isRepeatable: method === 'GET' };
}

function asTransportError(at: CuaAddress, error: unknown, whenAborted: string): Error {
  if (error instanceof CuaRequestError || error instanceof CuaTransportError) return error;
  const { name, message, code } = error as NodeJS.ErrnoException;
  if (name === 'AbortError' || name === 'TimeoutError') return new CuaTransportError(at, 'silent', whenAborted, error);
  const fault = code === 'ECONNREFUSED' || code === 'ENOENT' ? 'unreachable' : 'cut';
  return new CuaTransportError(at, fault, code ?? message, error);
}
