import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { API_ROUTES, type ApiRoute } from '#contracts/api-routes';
import { ProblemSchema, type Problem } from '#contracts/api-schemas';
import { apiClient, type ApiClientOptions, type CallAnswer, type OperationId } from '#cli/remote/api-client';
import { tokenAuthorizer } from '#cli/remote/authorizers';

/** A call as it arrived, its query and body read by the route's schemas. */
export interface SeenCall {
  readonly operationId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly headers: IncomingMessage['headers'];
}

/** An answer that need not fit the contract. */
export class RawAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: string, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export type FakeHandlers = {
  readonly [Id in OperationId]?: (call: SeenCall) => CallAnswer<Id> | RawAnswer | Promise<CallAnswer<Id> | RawAnswer>;
};
type AnyHandler = (call: SeenCall) => unknown;

export interface FakeApi {
  readonly url: URL;
  readonly token: string;
  readonly calls: readonly SeenCall[];
  /** Every request, calls of the API and downloads alike. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

interface FakeOptions {
  /** Below which the routes lie. */
  readonly basePath?: string;
  /** Paths that are no routes, such as files behind links. */
  readonly files?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Null for a call that carries the right proof; else what is answered. Instead of the token. */
  readonly refuse?: (request: IncomingMessage, body: string) => RawAnswer | null;
}

const TOKEN = 'test-token';

/** A server on loopback that speaks the contract: what arrives and what it answers are checked by the same schemas. */
export async function startFakeApi(handlers: FakeHandlers, options: FakeOptions = {}): Promise<FakeApi> {
  const calls: SeenCall[] = [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (options.files?.(request, response) === true) return;
    void answer(request, { handlers, options, calls }).then(({ status, body, headers }) => {
      response.writeHead(status, headers);
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${String(port)}${options.basePath ?? ''}`),
    token: TOKEN,
    calls,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** A client of it that never really waits. */
export function clientOf(api: FakeApi, more: Partial<ApiClientOptions> = {}) {
  return apiClient({
    baseUrl: api.url,
    authorizer: tokenAuthorizer(api.token),
    timeoutSeconds: 5,
    warn: () => undefined,
    delay: () => Promise.resolve(),
    random: () => 0,
    ...more,
  });
}

interface Serving {
  readonly handlers: FakeHandlers;
  readonly options: FakeOptions;
  readonly calls: SeenCall[];
}

async function answer(request: IncomingMessage, { handlers, options, calls }: Serving): Promise<RawAnswer> {
  const body = await readAll(request);
  const isToken = request.headers.authorization === `Bearer ${TOKEN}`;
  const refusal =
    options.refuse === undefined ? (isToken ? null : problem(401, 'UnauthorizedError')) : options.refuse(request, body);
  if (refusal !== null) return refusal;
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const path = url.pathname.slice((options.basePath ?? '').length);
  const found = routeOf(request.method ?? '', path);
  if (found === null) return new RawAnswer(403, '{"message":"Missing Authentication Token"}');
  const { route, params } = found;
  const query = route.query.safeParse(Object.fromEntries(url.searchParams));
  const parsedBody = route.body === null ? null : route.body.safeParse(JSON.parse(body));
  if (!query.success) return problem(400, 'InvalidRequestError', query.error.message);
  if (parsedBody?.success === false) return problem(400, 'InvalidRequestError', parsedBody.error.message);
  const { operationId } = route;
  const call: SeenCall = {
    operationId,
    params,
    query: query.data as SeenCall['query'],
    body: parsedBody?.data ?? null,
    headers: request.headers,
  };
  calls.push(call);
  const handler = Object.entries<AnyHandler>(handlers).find(([id]) => id === operationId)?.[1];
  if (handler === undefined) return problem(404, 'NotFoundError', `the test answers no ${operationId}`);
  const result = await handler(call);
  if (result instanceof RawAnswer) return result;
  return new RawAnswer(route.status, JSON.stringify(route.answer.parse(result)), {
    'content-type': 'application/json',
  });
}

function routeOf(
  method: string,
  path: string,
): { readonly route: ApiRoute; readonly params: Record<string, string> } | null {
  for (const route of API_ROUTES) {
    const pattern = new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/gu, '(?<$1>[^/]+)')}$`, 'u');
    const match = route.method === method ? pattern.exec(path) : null;
    if (match !== null)
      return {
        route,
        params: Object.fromEntries(
          Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
        ),
      };
  }
  return null;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** A refusal as the API words it. */
export function problem(
  status: number,
  code: string,
  detail = 'told by a test',
  problems: Problem['problems'] = [],
): RawAnswer {
  const body = ProblemSchema.parse({
    type: 'about:blank',
    title: 'Refused',
    status,
    detail,
    instance: 'request-1',
    code,
    problems,
  });
  return new RawAnswer(status, JSON.stringify(body), { 'content-type': 'application/problem+json' });
}
