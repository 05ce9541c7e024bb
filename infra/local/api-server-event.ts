import type { IncomingMessage } from 'node:http';
import type { ApiEvent } from '#contracts/api-event';
import { API_ROUTES, MAX_BODY_BYTES, type ApiRoute } from '#contracts/api-routes';
import { ServerRefusal } from './api-server-answer.ts';
import { headerValues } from './api-server-guard.ts';

/** A route, and what the path says in place of its parameters. */
export interface RoutedRequest {
  readonly route: ApiRoute;
  readonly pathParameters: Readonly<Record<string, string>>;
  readonly url: URL;
}

/** Finds the route of a request as API Gateway does. @throws ServerRefusal */
export function routeOf(request: IncomingMessage): RoutedRequest {
  const url = urlOf(request.url ?? '');
  const segments = url.pathname.split('/');
  const fitting = API_ROUTES.flatMap((route) => {
    const pathParameters = parametersOf(route.path, segments);
    return pathParameters === null ? [] : [{ route, pathParameters, url }];
  });
  const found = fitting.find(({ route }) => route.method === request.method);
  if (found !== undefined) return found;
  if (fitting.length === 0)
    throw new ServerRefusal('NotFoundError', 'there is no such route; GET /openapi.json lists those there are');
  const allowed = [...new Set(fitting.map(({ route }) => route.method))].join(', ');
  throw new ServerRefusal('MethodNotAllowedError', `this route takes ${allowed}`, { allow: allowed });
}

/** Only paths are taken: no other host by an absolute URL, and nothing that a parser would rewrite. @throws ServerRefusal */
export function urlOf(target: string): URL {
  const [path = ''] = target.split('?');
  if (path.startsWith('/') && !path.startsWith('//') && !/[\\#]/u.test(target)) {
    const url = new URL(target, 'http://127.0.0.1');
    if (url.pathname === path) return url;
  }
  throw new ServerRefusal('InvalidRequestError', 'the request target is no plain absolute path');
}

/** Null when the path is not the route's. @throws ServerRefusal for escapes that are no text. */
function parametersOf(path: string, segments: readonly string[]): Readonly<Record<string, string>> | null {
  const parts = path.split('/');
  if (parts.length !== segments.length) return null;
  const parameters: [string, string][] = [];
  for (const [at, part] of parts.entries()) {
    const segment = segments[at] ?? '';
    const name = /^\{(\w+)\}$/u.exec(part)?.[1];
    if (name === undefined && part !== segment) return null;
    if (name === undefined) continue;
    if (segment === '') return null;
    parameters.push([name, decoded(segment)]);
  }
  return Object.fromEntries(parameters);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new ServerRefusal('InvalidRequestError', 'the path has an escape that is no UTF-8');
  }
}

/** The call as API Gateway would hand it to the function; the token stays behind. */
export function eventOf(
  request: IncomingMessage,
  { route, pathParameters, url }: RoutedRequest,
  given: { readonly body: Buffer; readonly principalArn: string; readonly requestId: string },
): ApiEvent {
  const headers = new Map<string, string[]>();
  request.rawHeaders.forEach((name, at) => {
    if (at % 2 === 1 || name.toLowerCase() === 'authorization') return;
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), request.rawHeaders[at + 1] ?? '']);
  });
  const query = new Map<string, string[]>();
  for (const [name, value] of url.searchParams) query.set(name, [...(query.get(name) ?? []), value]);
  return {
    httpMethod: route.method,
    resource: route.path,
    pathParameters,
    multiValueQueryStringParameters: query.size === 0 ? null : Object.fromEntries(query),
    headers: Object.fromEntries([...headers].map(([name, values]) => [name, values.at(-1)])),
    multiValueHeaders: Object.fromEntries(headers),
    ...bodyFields(given.body),
    requestContext: { requestId: given.requestId, identity: { userArn: given.principalArn } },
  };
}

function bodyFields(body: Buffer): Pick<ApiEvent, 'body' | 'isBase64Encoded'> {
  if (body.length === 0) return { body: null, isBase64Encoded: false };
  try {
    return { body: new TextDecoder('utf-8', { fatal: true }).decode(body), isBase64Encoded: false };
  } catch {
    return { body: body.toString('base64'), isBase64Encoded: true };
  }
}

/**
 * Reads the body as it comes; one that is too large is told from its header, or as soon as it is. `begin` is called when the
 * sender may begin. @throws ServerRefusal
 */
export async function bodyOf(request: IncomingMessage, begin: () => void): Promise<Buffer> {
  const encodings = headerValues(request, 'content-encoding');
  if (encodings.some((encoding) => encoding.toLowerCase() !== 'identity'))
    throw new ServerRefusal('UnsupportedMediaTypeError', 'compressed bodies are not taken; send it as it is');
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > MAX_BODY_BYTES) throw tooLarge();
  begin();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_BODY_BYTES) throw tooLarge();
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    if (error instanceof ServerRefusal) throw error;
    throw new ServerRefusal('InvalidRequestError', 'the body was broken off');
  }
  return Buffer.concat(chunks);
}

function tooLarge(): ServerRefusal {
  const message = `the body is over ${String(MAX_BODY_BYTES)} bytes; split the request`;
  return new ServerRefusal('BodyTooLargeError', message);
}
