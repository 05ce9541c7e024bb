import type http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { lazy } from './lazy-builtins.ts';

/** An answer that is not the one asked for. The URL is left out: it carries its own permission. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  readonly status: number;

  constructor(what: string, status: number, body: string) {
    super(`${what} answered ${status}${body === '' ? '' : `: ${body.slice(0, 300)}`}`);
    this.status = status;
  }
}

/** Work that is worth another try although no status says so (a cut connection, a short body). */
export class TransferCutError extends Error {
  override readonly name = 'TransferCutError';
}

/** A connection that is silent for this long is taken as dead. */
const IDLE_LIMIT_MS = 60_000;
const TRIES = 6;
const FIRST_DELAY_MS = 200;
const RETRYABLE_STATUS = new Set([408, 425, 429, 500, 502, 503, 504]);
const RETRYABLE_CODES = new Set([
  ...[
    'ECONNRESET',
    'ECONNREFUSED',
    'EPIPE',
    'ETIMEDOUT',
    'EAI_AGAIN',
    'ENETUNREACH',
    'EHOSTUNREACH',
    'HPE_INVALID_CONSTANT',
  ],
  'ECONNABORTED',
]);

/** Connections are kept for the next object; made when the first is asked for. */
const agents: { plain?: http.Agent; secure?: http.Agent } = {};

function agentOf(isSecure: boolean): http.Agent {
  const settings = { keepAlive: true, maxSockets: 8 };
  if (isSecure) return (agents.secure ??= new (lazy.https().Agent)(settings));
  return (agents.plain ??= new (lazy.http().Agent)(settings));
}

/** Opens a request; the caller writes or ends it. */
export function openRequest(url: string, options: http.RequestOptions): http.ClientRequest {
  const target = new URL(url);
  if (target.protocol !== 'http:' && target.protocol !== 'https:') {
    throw new TypeError(`a ${target.protocol} URL cannot be used; allowed: http:, https:`);
  }
  const isSecure = target.protocol === 'https:';
  const { request: open } = isSecure ? lazy.https() : lazy.http();
  const request = open(target, { ...options, agent: agentOf(isSecure) });
  request.setTimeout(IDLE_LIMIT_MS, () => {
    request.destroy(new TransferCutError(`the connection was silent for ${IDLE_LIMIT_MS / 1000} s`));
  });
  return request;
}

/** The answer to a request that has been sent or is being sent. */
export function answerOf(request: http.ClientRequest): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
  });
}

export async function readBody(message: http.IncomingMessage, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message) {
    const buffer = chunk as Buffer;
    bytes += buffer.length;
    if (bytes > limitBytes) throw new RangeError(`an answer is larger than ${limitBytes} bytes`);
    chunks.push(buffer);
  }
  if (!message.complete) throw new TransferCutError('the connection was cut inside an answer');
  return Buffer.concat(chunks).toString('utf8');
}

/** GETs a text. */
export async function getText(what: string, url: string, limitBytes: number): Promise<string> {
  return retrying(async () => {
    const request = openRequest(url, { method: 'GET' });
    request.end();
    const answer = await answerOf(request);
    const body = await readBody(answer, limitBytes);
    if (answer.statusCode !== 200) throw new HttpStatusError(what, answer.statusCode ?? 0, body);
    return body;
  });
}

/** Tries again, waiting longer each time, what a busy or restarting server would answer later. */
export async function retrying<T>(work: (tryNumber: number) => Promise<T>): Promise<T> {
  for (let tryNumber = 1; ; tryNumber += 1) {
    try {
      return await work(tryNumber);
    } catch (error) {
      if (tryNumber >= TRIES || !isRetryable(error)) throw error;
      await sleep(FIRST_DELAY_MS * 2 ** (tryNumber - 1) * (0.75 + Math.random() / 2));
    }
  }
}

function isRetryable(error: unknown): boolean {
  if (error instanceof HttpStatusError) return RETRYABLE_STATUS.has(error.status);
  if (error instanceof TransferCutError) return true;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return (typeof code === 'string' && RETRYABLE_CODES.has(code)) || message === 'aborted';
}
