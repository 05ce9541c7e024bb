import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Problem } from '#contracts/api-schemas';

/** Why the server itself does not hand a request on. */
const SERVER_PROBLEMS = {
  InvalidRequestError: 400,
  UnauthenticatedError: 401,
  CrossSiteError: 403,
  NotFoundError: 404,
  MethodNotAllowedError: 405,
  RequestTimeoutError: 408,
  BodyTooLargeError: 413,
  UnsupportedMediaTypeError: 415,
  ExpectationFailedError: 417,
  MisdirectedRequestError: 421,
  HeadersTooLargeError: 431,
  InternalError: 500,
} as const;

type ServerProblemName = keyof typeof SERVER_PROBLEMS;

/** A request that goes no further than the server. */
export class ServerRefusal extends Error {
  override readonly name: ServerProblemName;
  readonly headers: Readonly<Record<string, string>>;

  constructor(name: ServerProblemName, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.name = name;
    this.headers = headers;
  }
}

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

export function refusalAnswer(refusal: ServerRefusal, requestId: string): Answer {
  const status = SERVER_PROBLEMS[refusal.name];
  const problem: Problem = {
    type: `urn:examhall:problem:${refusal.name}`,
    title: STATUS_CODES[status] ?? 'Refused',
    status,
    detail: refusal.message,
    instance: requestId,
    code: refusal.name,
    problems: [],
  };
  const headers = { ...HEADERS, 'content-type': 'application/problem+json', 'x-request-id': requestId };
  return { status, headers: { ...headers, ...refusal.headers }, body: JSON.stringify(problem) };
}

/** What is still taken of a body that nobody reads; then its sender is left waiting, and soon cut off. */
const UNREAD_BYTES = 256 * 1024;
const UNREAD_MS = 1_000;

/** Sends an answer, also to a request that was not read to its end: most of a large body is never taken. */
export function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) });
  response.end(request.method === 'HEAD' ? undefined : answer.body);
  if (!request.complete) dropRest(request);
}

/** Closing at once would make the sender's side forget the answer it has not read yet. */
function dropRest(request: IncomingMessage): void {
  let bytes = 0;
  const cut = setTimeout(() => {
    request.socket.destroy();
  }, UNREAD_MS);
  request.on('error', () => undefined);
  request.on('close', () => {
    clearTimeout(cut);
  });
  request.on('end', () => {
    clearTimeout(cut);
  });
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > UNREAD_BYTES) request.pause();
  });
}

/** Answers what was no HTTP request, or did not come in time. */
export function sendBroken(error: Error & { readonly code?: string }, socket: Socket, requestId: string): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, headers, body } = refusalAnswer(refusalOf(error.code), requestId);
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n${body}`);
  setTimeout(() => {
    socket.destroy();
  }, UNREAD_MS).unref();
}

function refusalOf(code: string | undefined): ServerRefusal {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ServerRefusal('HeadersTooLargeError', 'the request line and headers are over 64 KiB; send less');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServerRefusal('RequestTimeoutError', 'the request did not come in time; send it again');
  return new ServerRefusal('InvalidRequestError', 'this is no HTTP/1.1 request');
}
