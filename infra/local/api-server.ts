import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { ApiFunction } from '#contracts/api-routes';
import { refusalAnswer, send, sendBroken, ServerRefusal, type Answer } from './api-server-answer.ts';
import { bodyOf, eventOf, routeOf, urlOf } from './api-server-event.ts';
import { principalOf, refuseForeign, type ServedToken } from './api-server-guard.ts';

export interface ApiServerOptions {
  /** Calls a function of the API with a proxy event. */
  readonly invoke: (name: ApiFunction, event: unknown) => Promise<unknown>;
  readonly tokens: readonly ServedToken[];
  /** Served to everybody on this computer at `/openapi.json`. */
  readonly openApi: string;
  /** 0, the default, for a free one. */
  readonly port?: number;
  readonly onFault?: (requestId: string, error: unknown) => void;
  readonly timeouts?: Partial<ApiServerTimeouts>;
}

/** In milliseconds. */
export interface ApiServerTimeouts {
  /** From the first byte of a request to the end of its headers. */
  readonly headers: number;
  /** To the end of its body. */
  readonly request: number;
  readonly keepAlive: number;
  /** Between looks at the others. */
  readonly checking: number;
}

export interface ApiServer {
  readonly baseUrl: string;
  readonly port: number;
  /** Takes no more requests, waits a little for those under way, and cuts what is then still open. */
  close(graceMs?: number): Promise<void>;
}

const TIMEOUTS: ApiServerTimeouts = { headers: 10_000, request: 60_000, keepAlive: 10_000, checking: 1_000 };
const MAX_CONNECTIONS = 256;
/** Bodies and answers of a few megabytes each are held in memory. */
const MAX_AT_ONCE = 16;
const GRACE_MS = 5_000;

const AnswerSchema = z.object({
  statusCode: z.int().min(200).max(599),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
});

/** Serves the API on loopback: the same routes and functions as behind API Gateway. @throws what listening throws. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const server = createServer({
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    keepAliveTimeout: timeouts.keepAlive,
    connectionsCheckingInterval: timeouts.checking,
    // A cursor of any characters, escaped, is told as too long by the function.
    maxHeaderSize: 64 * 1024,
    // Ours is told as a problem.
    requireHostHeader: false,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const own = { port: 0 };
  const serving: Serving = { options, slots: new Slots(MAX_AT_ONCE), own };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    void serve(serving, request, response);
  };
  server.on('request', onRequest);
  // The client waits with its body until it is told to go on: refuse first.
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', onRequest);
  server.on('clientError', (error: Error & { code?: string }, socket) => {
    if ('destroyed' in socket) sendBroken(error, socket as Parameters<typeof sendBroken>[1], randomUUID());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  own.port = portOf(server);
  return {
    baseUrl: `http://127.0.0.1:${String(own.port)}`,
    port: own.port,
    close: async (graceMs = GRACE_MS) => {
      await close(server, graceMs);
    },
  };
}

interface Serving {
  readonly options: ApiServerOptions;
  readonly slots: Slots;
  /** Known once it listens. */
  readonly own: { readonly port: number };
}

/** Lets so many through at once; others wait in turn. */
class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(all: number) {
    this.#free = all;
  }

  async within<R>(work: () => Promise<R>): Promise<R> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

async function serve(serving: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const requestId = randomUUID();
  response.on('error', () => undefined);
  try {
    send(request, response, await answerTo(serving, { request, response, requestId }));
  } catch (error) {
    if (!(error instanceof ServerRefusal)) serving.options.onFault?.(requestId, error);
    const refusal =
      error instanceof ServerRefusal
        ? error
        : new ServerRefusal('InternalError', 'something went wrong on our side; the request id finds it in the log');
    send(request, response, refusalAnswer(refusal, requestId));
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
}

async function answerTo({ options, slots, own }: Serving, exchange: Exchange): Promise<Answer> {
  const { request, response, requestId } = exchange;
  refuseForeign(request, own.port);
  if (!/^(?:100-continue)?$/iu.test(request.headers.expect ?? ''))
    throw new ServerRefusal('ExpectationFailedError', 'the only expectation that is met is 100-continue');
  if (urlOf(request.url ?? '').pathname === '/openapi.json') return openApiAnswer(request, options.openApi);
  const principalArn = principalOf(request, options.tokens);
  const routed = routeOf(request);
  return await slots.within(async () => {
    const body = await bodyOf(request, () => {
      if (request.headers.expect !== undefined) response.writeContinue();
    });
    const event = eventOf(request, routed, { body, principalArn, requestId });
    const answered = AnswerSchema.parse(await invoked(options, routed.route.function, event));
    return { status: answered.statusCode, headers: answered.headers, body: answered.body };
  });
}

async function invoked({ invoke }: ApiServerOptions, name: ApiFunction, event: unknown): Promise<unknown> {
  try {
    return await invoke(name, event);
  } catch (error) {
    // A body within bounds can be longer once it stands in the event.
    if (!(error instanceof Error && error.name === 'Lambda.RequestTooLargeException')) throw error;
    throw new ServerRefusal('BodyTooLargeError', 'the body is too large once its characters are escaped; split it');
  }
}

function openApiAnswer({ method }: IncomingMessage, openApi: string): Answer {
  if (method !== 'GET') throw new ServerRefusal('MethodNotAllowedError', 'this route takes GET', { allow: 'GET' });
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { status: 200, headers, body: openApi };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the API server has no port');
  return address.port;
}

async function close(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return;
  const state = { isClosed: false };
  const closed = once(server, 'close').then(() => {
    state.isClosed = true;
  });
  server.close();
  const until = Date.now() + graceMs;
  while (!state.isClosed && Date.now() < until) {
    server.closeIdleConnections();
    await sleep(20);
  }
  server.closeAllConnections();
  await closed;
}
