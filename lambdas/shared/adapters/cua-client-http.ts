import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRepeatable } from '#core/cua/commands';
import { parseReply } from '#core/cua/frames';
import { CuaCommandError, CuaRequestError, CuaTransportError, type CuaAddress } from './cua-client-errors.ts';

/** Where a server is. `socketPath` is a unix socket relayed to the URL's port, for a server in a network that is not ours. */
export interface CuaEndpoint {
  readonly url: string;
  readonly socketPath?: string | null;
}

export interface HttpAnswer {
  readonly statusCode: number;
  readonly body: string;
}

export interface SendOptions {
  /** How long the whole exchange may take. */
  readonly deadlineSeconds: number;
  readonly signal?: AbortSignal | undefined;
}

/** One server's door: sends requests, with no opinion about what they mean. */
export interface CuaHttp {
  get(path: string, options: SendOptions): Promise<HttpAnswer>;
  /** One command; reads are sent again when the connection failed, everything else goes out once. */
  command(
    command: string,
    params: Readonly<Record<string, unknown>>,
    options: SendOptions,
  ): Promise<Record<string, unknown>>;
  close(): void;
}

interface CuaHttpOptions {
  /** Larger answers are given up at that point as `too-large`. */
  readonly replyLimitBytes?: number;
}

/** Shorter than uvicorn's 5 s, so that a request never meets a connection that is just being closed. */
const IDLE_CONNECTION_MS = 2_000;
const RETRY_DELAYS_MS = [200, 1_000];
const RETRYABLE_STATUS = new Set([502, 503, 504]);

interface Target extends SendOptions {
  readonly at: CuaAddress;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body: string;
  readonly replyLimitBytes: number;
}

/** @throws TypeError when the address is no http or https URL. */
export function createCuaHttp(endpoint: CuaEndpoint, options: CuaHttpOptions = {}): CuaHttp {
  const { replyLimitBytes = 128 * 1024 * 1024 } = options;
  const base = readBase(endpoint.url);
  const isSecure = base.protocol === 'https:';
  const kept = { keepAlive: true, maxSockets: 16, timeout: IDLE_CONNECTION_MS };
  const agent = isSecure ? new https.Agent(kept) : new http.Agent(kept);
  const url = `${base.origin}${base.pathname}`.replace(/\/$/, '');

  const send = (target: Omit<Target, 'replyLimitBytes'>): Promise<HttpAnswer> => {
    const { hostname, port } = base;
    const settings: http.RequestOptions = {
      ...(endpoint.socketPath ? { socketPath: endpoint.socketPath } : {}),
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? null : port,
      method: target.method,
      path: `${base.pathname.replace(/\/$/, '')}${target.path}`,
      // What changes something never goes out on a kept connection: whether it arrived could not be told.
      agent: target.at.isRepeatable ? agent : false,
      headers: {
        host: base.host,
        ...(target.body === ''
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(target.body) }),
      },
    };
    return exchange((isSecure ? https : http).request(settings), { ...target, replyLimitBytes });
  };

  return {
    get: (path, options) => {
      const at = { url, command: `GET ${path}`, isRepeatable: true };
      return repeating(at, options, () => send({ at, method: 'GET', path, body: '', ...options }));
    },
    command: (command, params, options) => {
      const at = { url, command, isRepeatable: isRepeatable(command) };
      const body = JSON.stringify({ command, params });
      return repeating(at, options, async () =>
        resultOf(at, await send({ at, method: 'POST', path: '/cmd', body, ...options })),
      );
    },
    close: () => {
      agent.destroy();
    },
  };
}

function readBase(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw new TypeError(`${JSON.stringify(text)} is no address of a cua-server; write it as http://host:port`);
}

function resultOf(at: CuaAddress, answer: HttpAnswer): Record<string, unknown> {
  const reply = parseReply(answer.statusCode, answer.body);
  if (reply.kind === 'result') return reply.fields;
  if (reply.kind === 'http') throw new CuaRequestError(at, reply.statusCode, reply.detail);
  if (reply.kind === 'failure') throw new CuaCommandError(at, reply.message, reply.fields);
  throw new CuaTransportError(at, 'broken', reply.reason);
}

/**
 * Sends what changes nothing again after a failed connection or a busy proxy, and anything that cannot have arrived; not
 * once the time of one exchange is over.
 */
async function repeating<T>(at: CuaAddress, { deadlineSeconds }: SendOptions, work: () => Promise<T>): Promise<T> {
  const lastRepeatAt = performance.now() + deadlineSeconds * 1_000;
  for (const delay of RETRY_DELAYS_MS) {
    try {
      return await work();
    } catch (error) {
      if (!isWorthRepeating(at, error) || performance.now() >= lastRepeatAt) throw error;
      await sleep(delay);
    }
  }
  return work();
}

function isWorthRepeating(at: CuaAddress, error: unknown): boolean {
  if (error instanceof CuaRequestError) return at.isRepeatable && RETRYABLE_STATUS.has(error.statusCode);
  if (!(error instanceof CuaTransportError)) return false;
  return error.fault === 'unreachable' || (at.isRepeatable && (error.fault === 'cut' || error.fault === 'broken'));
}

/** Sends one request and reads its whole answer, within the deadline. */
function exchange(request: http.ClientRequest, target: Target): Promise<HttpAnswer> {
  const { at, deadlineSeconds, signal, replyLimitBytes } = target;
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const fail = (fault: CuaTransportError['fault'], reason: string, cause?: unknown): void => {
      finish();
      request.destroy();
      reject(new CuaTransportError(at, fault, reason, cause));
    };
    const timer = setTimeout(() => {
      fail(isConnected ? 'silent' : 'unreachable', `no answer within ${deadlineSeconds} s`);
    }, deadlineSeconds * 1_000);
    const onAbort = (): void => fail('aborted', 'the call was given up', signal?.reason);
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    request.on('socket', (socket: Socket) => {
      if (!socket.connecting) isConnected = true;
      else socket.once('connect', () => (isConnected = true));
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      const fault = isConnected ? 'cut' : 'unreachable';
      fail(
        fault,
        `${fault === 'cut' ? 'the connection was cut' : 'no connection'} (${error.code ?? error.message})`,
        error,
      );
    });
    request.on('response', (message) => {
      readAnswer(message, replyLimitBytes).then(
        (answer) => {
          finish();
          resolve(answer);
        },
        (error: unknown) => {
          if (error instanceof RangeError) fail('too-large', error.message);
          else fail('cut', 'the connection was cut inside the answer', error);
        },
      );
    });
    if (signal?.aborted) onAbort();
    else {
      signal?.addEventListener('abort', onAbort, { once: true });
      request.end(target.body);
    }
  });
}

async function readAnswer(message: http.IncomingMessage, limitBytes: number): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message) {
    const buffer = chunk as Buffer;
    bytes += buffer.length;
    if (bytes > limitBytes) throw new RangeError(`the answer is larger than ${limitBytes} bytes; read in pieces`);
    chunks.push(buffer);
  }
  if (!message.complete) throw new Error('the answer ended early');
  return { statusCode: message.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') };
}
