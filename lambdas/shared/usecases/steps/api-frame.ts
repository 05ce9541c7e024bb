import { permissionsOf } from '#core/api-access';
import { ApiRefusal, type RequestProblem } from '#core/api-refusal';
import { apiProblemOf, RETRY_AFTER_SECONDS } from '#core/api-status';
import { ApiEventSchema, type ApiAnswer, type ApiEvent } from '#contracts/api-event';
import { API_ROUTES, type ApiFunction, type ApiRoute } from '#contracts/api-routes';
import type { Problem } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { callReader, idempotencyKeyOf, problemsOf, refuseBody } from './api-input.ts';
import type { ApiReply, Operations } from './api-operation.ts';

type FramePorts = Pick<Ports, 'policy' | 'ids' | 'log'>;

const MAX_DETAIL = 2000;

/**
 * Answers a call: finds its route, asks whether the caller may, reads its parts and runs it. Whatever goes wrong is a
 * problem (RFC 9457); what is our fault is logged and told without its inside. Never throws.
 */
export async function answerCall<P extends FramePorts>(
  api: { readonly name: ApiFunction; readonly operations: Operations<P> },
  event: unknown,
  ports: P,
): Promise<ApiAnswer> {
  const parsed = ApiEventSchema.safeParse(event);
  const requestId = requestIdOf(parsed.data, ports);
  try {
    if (!parsed.success) {
      const problems = problemsOf(parsed.error, 'event');
      throw new ApiRefusal('InvalidRequestError', 'this is no call of a REST API', problems);
    }
    const { route, reply } = await run(api, parsed.data, ports);
    return success(route, reply, requestId);
  } catch (error) {
    return failure(error, requestId, ports);
  }
}

async function run<P extends FramePorts>(
  { name, operations }: { readonly name: ApiFunction; readonly operations: Operations<P> },
  event: ApiEvent,
  ports: P,
): Promise<{ readonly route: ApiRoute; readonly reply: ApiReply }> {
  const route = API_ROUTES.find(
    (each) => each.method === event.httpMethod && each.path === event.resource && each.function === name,
  );
  const operation = route === undefined ? undefined : operations[route.operationId];
  if (route === undefined || operation === undefined) {
    throw new ApiRefusal('NotFoundError', 'there is no such route; openapi.json lists those there are');
  }
  const principalArn = event.requestContext.identity?.userArn ?? '';
  const permissions = permissionsOf(ports.policy, principalArn);
  if (!permissions.has(route.permission)) throw denied(principalArn, route, permissions.size);
  const id = idOf(event, route);
  const idempotencyKey = route.isIdempotent === true ? idempotencyKeyOf(event) : null;
  if (route.body === null) refuseBody(event);
  const reply = await operation.answer(
    callReader(event, route),
    { principalArn, permissions, id, idempotencyKey },
    ports,
  );
  return { route, reply };
}

function denied(principalArn: string, { operationId, permission }: ApiRoute, held: number): ApiRefusal {
  const who =
    principalArn === ''
      ? 'the caller is not known'
      : `${principalArn.slice(0, 300)} has ${held === 0 ? 'no role' : 'no role for it'}`;
  const message = `${operationId} needs the permission "${permission}", and ${who}; roles come from the deployment's settings`;
  return new ApiRefusal('AccessDeniedError', message);
}

const ID_SHAPES: Readonly<Record<string, RegExp>> = {
  sweepId: /^[A-Za-z0-9_-]{1,64}$/u,
  unitId: /^[A-Za-z0-9_.-]{1,512}$/u,
};

/** The id that the route's path has; one of another shape is nobody's. */
function idOf(event: ApiEvent, { path }: ApiRoute): string {
  const name = /\{(\w+)\}/u.exec(path)?.[1];
  if (name === undefined) return '';
  const parameters = event.pathParameters ?? {};
  const id = Object.hasOwn(parameters, name) ? (parameters[name] ?? '') : '';
  if (ID_SHAPES[name]?.test(id) === true) return id;
  throw new ApiRefusal('NotFoundError', `${name} in the path is no id of ours`);
}

function requestIdOf(event: ApiEvent | undefined, { ids }: FramePorts): string {
  const given = event?.requestContext.requestId ?? '';
  return /^[\w-]{1,128}$/u.test(given) ? given : ids.next();
}

const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

function success(route: ApiRoute, reply: ApiReply, requestId: string): ApiAnswer {
  const isCsv = reply.csv !== undefined;
  return {
    statusCode: route.status,
    headers: {
      ...COMMON_HEADERS,
      'content-type': isCsv ? 'text/csv; charset=utf-8' : 'application/json',
      'x-request-id': requestId,
      ...(reply.location === undefined ? {} : { location: reply.location }),
    },
    body: reply.csv ?? JSON.stringify(reply.body),
  };
}

function failure(error: unknown, requestId: string, { log }: FramePorts): ApiAnswer {
  const name = error instanceof Error ? error.name : typeof error;
  const message = error instanceof Error ? error.message : String(error);
  const { code, status, title, isOurs } = apiProblemOf(name);
  if (isOurs === true) log.error('api.failed', { requestId, errorName: name, message });
  else log.info('api.refused', { requestId, errorName: name });
  const problem: Problem = {
    type: `urn:examhall:problem:${code}`,
    title,
    status,
    detail: isOurs === true ? `${title}; the request id finds it in the logs` : message.slice(0, MAX_DETAIL),
    instance: requestId,
    code,
    problems: isOurs === true ? [] : [...problemsIn(error)],
  };
  return {
    statusCode: status,
    headers: {
      ...COMMON_HEADERS,
      'content-type': 'application/problem+json',
      'x-request-id': requestId,
      ...(status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {}),
    },
    body: JSON.stringify(problem),
  };
}

/** Refusals carry their problems, errors of ours in their details. */
function problemsIn(error: unknown): readonly RequestProblem[] {
  if (typeof error !== 'object' || error === null) return [];
  const details = 'details' in error && typeof error.details === 'object' ? error.details : null;
  const holder = 'problems' in error ? error : details;
  const problems: unknown = holder !== null && 'problems' in holder ? holder.problems : null;
  return Array.isArray(problems) ? problems.flatMap(problemIn) : [];
}

function problemIn(value: unknown): readonly RequestProblem[] {
  if (typeof value !== 'object' || value === null || !('path' in value) || !('message' in value)) return [];
  return [{ path: String(value.path), message: String(value.message) }];
}
