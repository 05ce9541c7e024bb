import { setTimeout as sleep } from 'node:timers/promises';
import type * as z from 'zod';
import { API_ROUTES, type ApiRoute, type TypedRoute } from '#contracts/api-routes';
import { errorOfAnswer, isClockSkew, type AnsweredCall } from './answer-errors.ts';
import type { Authorizer } from './authorizers.ts';
import { exchange, type HttpAnswer } from './http-exchange.ts';
import { plainText } from './plain-text.ts';
import { RemoteError } from './remote-error.ts';

export type OperationId = TypedRoute['operationId'];
type RouteOf<Id extends OperationId> = Extract<TypedRoute, { readonly operationId: Id }>;
type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;
type ParamsPart<Path extends string> = [ParamNames<Path>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: Readonly<Record<ParamNames<Path>, string>> };
type BodyPart<Body> = Body extends z.ZodType ? { readonly body: z.input<Body> } : { readonly body?: undefined };

/** What an operation takes, by the schemas of its route. */
export type CallInput<Id extends OperationId> = ParamsPart<RouteOf<Id>['path']> &
  BodyPart<RouteOf<Id>['body']> & {
    readonly query?: z.input<RouteOf<Id>['query']>;
    readonly idempotencyKey?: string;
    readonly signal?: AbortSignal;
  };
export type CallAnswer<Id extends OperationId> = z.output<RouteOf<Id>['answer']>;

/** The API of one host. */
export interface ApiClient {
  readonly baseUrl: URL;
  /** @throws RemoteError */
  readonly call: <Id extends OperationId>(operationId: Id, input: CallInput<Id>) => Promise<CallAnswer<Id>>;
}

export interface ApiClientOptions {
  readonly baseUrl: URL;
  readonly authorizer: Authorizer;
  readonly timeoutSeconds: number;
  /** Told once for each thing a person should know though the call goes on. */
  readonly warn: (line: string) => void;
  readonly delay?: (milliseconds: number) => Promise<unknown>;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** Grades again each time it is asked. */
const NOT_REPEATABLE = new Set<string>(['regradeUnit']);
const MOST_TRIES = 5;
const FIRST_WAIT_SECONDS = 0.5;
const LONGEST_WAIT_SECONDS = 20;
const LONGEST_RETRY_AFTER_SECONDS = 120;
const SKEW_WORTH_TELLING_MILLISECONDS = 60_000;

/** A client that tries again what may be tried again, and checks every answer against the route's schema. */
export function apiClient(options: ApiClientOptions): ApiClient {
  return {
    baseUrl: options.baseUrl,
    call: async (operationId, input) => {
      const route = routeOf(operationId);
      const answer = await callRepeatedly(options, route, input);
      // The schema is that of the route, whose output type is the answer's.
      return answer as CallAnswer<typeof operationId>;
    },
  };
}

interface LooseInput {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

function routeOf(operationId: string): ApiRoute {
  const route = API_ROUTES.find((each) => each.operationId === operationId);
  if (route === undefined) throw new TypeError(`no route ${operationId}`);
  return route;
}

async function callRepeatedly(options: ApiClientOptions, route: ApiRoute, input: LooseInput): Promise<unknown> {
  const delay = options.delay ?? ((milliseconds) => sleep(milliseconds, undefined, { signal: input.signal }));
  for (let tried = 1; ; tried += 1) {
    try {
      return await callOnce(options, route, input);
    } catch (error) {
      input.signal?.throwIfAborted();
      if (!(error instanceof RemoteError) || tried >= MOST_TRIES || !mayRepeat(error, route, input)) throw error;
      await delay(waitSeconds(error, tried, options.random ?? Math.random) * 1000);
    }
  }
}

/** What never arrived may always be sent again; what may have been acted on, only where twice is the same as once. */
function mayRepeat(error: RemoteError, route: ApiRoute, input: LooseInput): boolean {
  if (error.kind === 'throttled') return true;
  if (error.kind === 'access' || error.kind === 'request') return false;
  if (error.kind === 'host' && (error.status === null || error.status < 500)) return false;
  if (error.isUnsent) return error.code === 'EAI_AGAIN';
  if (route.isIdempotent === true) return input.idempotencyKey !== undefined;
  return !NOT_REPEATABLE.has(route.operationId);
}

function waitSeconds(error: RemoteError, tried: number, random: () => number): number {
  if (error.retryAfterSeconds !== null) return Math.min(error.retryAfterSeconds, LONGEST_RETRY_AFTER_SECONDS);
  const longest = Math.min(FIRST_WAIT_SECONDS * 2 ** (tried - 1), LONGEST_WAIT_SECONDS);
  return longest * (0.5 + random() / 2);
}

async function callOnce(options: ApiClientOptions, route: ApiRoute, input: LooseInput): Promise<unknown> {
  const { authorizer, baseUrl } = options;
  const call: AnsweredCall = { route, host: baseUrl.host, kind: authorizer.kind, region: authorizer.region };
  let answer = await sendSigned(options, route, input);
  if (isSkewed(answer)) {
    const skew = authorizer.correctClock(Date.parse(answer.headers['date'] ?? ''));
    if (Math.abs(skew) > SKEW_WORTH_TELLING_MILLISECONDS)
      options.warn(
        `the clock of this computer differs from AWS's by ${String(Math.round(skew / 1000))} s; signing by AWS's time`,
      );
    answer = await sendSigned(options, route, input);
  }
  if (answer.status >= 300) throw errorOfAnswer(call, answer);
  return parseAnswer(route, baseUrl, answer);
}

function isSkewed({ status, headers, text }: HttpAnswer): boolean {
  const isRefused = status === 400 || status === 401 || status === 403;
  return (
    isRefused &&
    isClockSkew(`${headers['x-amzn-errortype'] ?? ''} ${text}`) &&
    !Number.isNaN(Date.parse(headers['date'] ?? ''))
  );
}

async function sendSigned(options: ApiClientOptions, route: ApiRoute, input: LooseInput): Promise<HttpAnswer> {
  const url = urlOf(options.baseUrl, route, input);
  const body = route.body === null ? undefined : JSON.stringify(input.body);
  const headers = {
    accept: 'application/json, application/problem+json',
    'user-agent': 'examhall',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(input.idempotencyKey === undefined ? {} : { 'idempotency-key': input.idempotencyKey }),
  };
  const unsigned = { method: route.method, url, headers, ...(body === undefined ? {} : { body }) };
  input.signal?.throwIfAborted();
  return await exchange({
    ...unsigned,
    headers: await options.authorizer.authorize(unsigned),
    timeoutSeconds: options.timeoutSeconds,
  });
}

function parseAnswer(route: ApiRoute, { host }: URL, { status, text }: HttpAnswer): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RemoteError(
      'host',
      `${host} answered ${String(status)} with something that is no JSON: ${JSON.stringify(plainText(text, 80))}; is this the address of the API?`,
    );
  }
  const parsed = route.answer.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where =
    issue === undefined ? '' : ` (${plainText(issue.path.join('.'), 100)}: ${plainText(issue.message, 200)})`;
  throw new RemoteError(
    'host',
    `${host} gave an answer to ${route.operationId} that this version does not understand${where}; the stage may run another version of Exam Hall than this command`,
  );
}

function urlOf(baseUrl: URL, route: ApiRoute, { params = {}, query }: LooseInput): URL {
  const path = route.path.replaceAll(/\{(\w+)\}/gu, (_all, name: string) => segment(name, params[name] ?? ''));
  const pairs = Object.entries(typeof query === 'object' && query !== null ? query : {}).filter(
    ([, value]) => value !== undefined,
  );
  const search = pairs.map(([name, value]) => `${encode(name)}=${encode(String(value))}`).join('&');
  return new URL(`${baseUrl.href.replace(/\/+$/u, '')}${path}${search === '' ? '' : `?${search}`}`);
}

/** One part of a path; an id that is none would lead elsewhere. */
function segment(name: string, value: string): string {
  if (value !== '' && value !== '.' && value !== '..') return encode(value);
  throw new RemoteError(
    'request',
    `${name} is ${JSON.stringify(value)}; give an id as \`examhall status\` and \`examhall units\` print them`,
  );
}

/** As SigV4 wants it: everything but unreserved characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
