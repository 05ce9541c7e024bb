import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';

import { ExamHallError } from '#core/errors';

/** A server that says nothing for so long is taken for gone. */
const SILENCE_MS = 60_000;

/**
 * Clients of our own: the process-wide ones may be told by the environment to use a proxy, and what a signed URL gives is
 * for nobody in between. Connections are not kept: a function may be frozen between two transfers.
 */
const AGENTS = { http: new http.Agent(), https: new https.Agent() };

export interface ScratchRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** Sends a request and gives the answer, its content not yet read. Redirects are refused. @throws StoreUnavailableError */
export async function answered(url: string, request: ScratchRequest): Promise<IncomingMessage> {
  let response: IncomingMessage;
  try {
    response = await send(url, request);
  } catch (error) {
    throw unavailable(url, error);
  }
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return response;
  response.destroy();
  throw answeredBadly(url, status);
}

async function send(url: string, { method, headers = {}, body }: ScratchRequest): Promise<IncomingMessage> {
  const target = new URL(url);
  const isTls = target.protocol === 'https:';
  const length = body === undefined ? {} : { 'content-length': body.byteLength };
  return await new Promise((resolve, reject) => {
    const options = { method, headers: { ...headers, ...length }, timeout: SILENCE_MS };
    const request = isTls
      ? https.request(target, { ...options, agent: AGENTS.https })
      : http.request(target, { ...options, agent: AGENTS.http });
    request.once('timeout', () => request.destroy(new Error(`no answer in ${String(SILENCE_MS / 1_000)} s`)));
    request.once('error', reject);
    request.once('response', resolve);
    request.end(body);
  });
}

/** Of a URL only the path is ever told: the rest of it is a signature. */
export function answeredBadly(url: string, status: number): ExamHallError {
  return new ExamHallError('StoreUnavailableError', `${placeOf(url)} was answered ${String(status)}`);
}

/** The connection broke, or there was none. */
export function unavailable(url: string, error: unknown): ExamHallError {
  const why = error instanceof Error && error.message !== '' ? reasonOf(error) : 'the connection broke';
  return new ExamHallError('StoreUnavailableError', `${placeOf(url)} did not answer: ${why}`);
}

/** Messages of URL parsers and the like may hold what they were given. */
function reasonOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' && error.code !== 'ERR_INVALID_URL'
    ? `${error.message} (${error.code})`
    : error.name;
}

function placeOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : 'a URL that is none';
}
