import type * as z from 'zod';
import { ApiRefusal, type RequestProblem } from '#core/api-refusal';
import { decodeBase64 } from '#core/base64';
import { isWellFormed, utf8Bytes } from '#core/utf8';
import type { ApiEvent } from '#contracts/api-event';
import { MAX_BODY_BYTES, MAX_IDEMPOTENCY_KEY_LENGTH, type ApiRoute } from '#contracts/api-routes';
import type { CallReader } from './api-operation.ts';

/** Deeper than any request of ours, far from any parser's bound. */
const MAX_DEPTH = 32;
const MAX_PROBLEMS = 100;
const MAX_TEXT = 300;

/** Reads a call's parts once it is known to be allowed. */
export function callReader(event: ApiEvent, route: ApiRoute): CallReader {
  return {
    query: (schema) => parsed(schema, queryOf(event), 'query'),
    body: (schema) => parsed(schema, bodyOf(event, route), 'body'),
  };
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, place: 'query' | 'body'): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = problemsOf(result.error, place);
  throw new ApiRefusal('InvalidRequestError', detailOf(problems, place), problems);
}

function detailOf(problems: readonly RequestProblem[], place: string): string {
  const [first] = problems;
  return `the ${place} does not fit: ${first === undefined ? 'it is not what is asked for' : `${first.path}: ${first.message}`}`;
}

/** Each problem of a parse by its place; long texts are cut. */
export function problemsOf(error: z.ZodError, place: string): readonly RequestProblem[] {
  return error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => ({
    path: cut(
      path.reduce<string>(
        (text, key) => `${text}${typeof key === 'number' ? `[${String(key)}]` : `.${String(key)}`}`,
        place,
      ),
    ),
    message: cut(message),
  }));
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text;
}

/** @throws ApiRefusal when a parameter comes twice. */
function queryOf({ multiValueQueryStringParameters: given }: ApiEvent): Readonly<Record<string, string>> {
  const entries = Object.entries(given ?? {});
  const problems = entries
    .filter(([, values]) => values?.length !== 1)
    .map(([name]) => ({
      path: cut(`query.${name}`),
      message: 'is given more than once, or without a value; give it once',
    }));
  if (problems.length > 0)
    throw new ApiRefusal('InvalidRequestError', 'a query parameter comes more than once', problems);
  return Object.fromEntries(entries.map(([name, values]) => [name, values?.[0] ?? '']));
}

/** Values of a header, whatever its letters' case; a header that comes twice has two. */
export function headerValues(event: ApiEvent, name: string): readonly string[] {
  const isIt = (key: string): boolean => key.toLowerCase() === name;
  const many = Object.entries(event.multiValueHeaders ?? {}).filter(([key]) => isIt(key));
  if (many.length > 0) return many.flatMap(([, values]) => values ?? []);
  return Object.entries(event.headers ?? {}).flatMap(([key, value]) =>
    isIt(key) && typeof value === 'string' ? [value] : [],
  );
}

/** @throws ApiRefusal for a key that comes twice, is too long, or is not plain text. */
export function idempotencyKeyOf(event: ApiEvent): string | null {
  const [key, ...others] = headerValues(event, 'idempotency-key');
  if (key === undefined) return null;
  if (others.length === 0 && key.length <= MAX_IDEMPOTENCY_KEY_LENGTH && /^[!-~]+$/u.test(key)) return key;
  const message = `must be one value of 1 to ${String(MAX_IDEMPOTENCY_KEY_LENGTH)} visible ASCII characters`;
  throw new ApiRefusal('InvalidRequestError', `the header Idempotency-Key ${message}`, [
    { path: 'header.Idempotency-Key', message },
  ]);
}

/** A route without a body takes none, or an empty object. @throws ApiRefusal */
export function refuseBody(event: ApiEvent): void {
  const text = event.body ?? '';
  if (utf8Bytes(text) > MAX_BODY_BYTES) throw tooLarge(utf8Bytes(text));
  if (['', '{}'].includes(text.trim())) return;
  throw new ApiRefusal('InvalidRequestError', 'this route takes no body; send none');
}

/** The body as JSON. @throws ApiRefusal */
function bodyOf(event: ApiEvent, route: ApiRoute): unknown {
  const text = bodyText(event);
  if (text === '') {
    throw new ApiRefusal('InvalidRequestError', `${route.operationId} needs a JSON body, and there is none`);
  }
  refuseMediaType(event);
  const value = parseJson(text);
  const problem = oddityOf(value);
  if (problem !== null) throw new ApiRefusal('InvalidRequestError', `${problem.path} ${problem.message}`, [problem]);
  return value;
}

function refuseMediaType(event: ApiEvent): void {
  const types = headerValues(event, 'content-type');
  const [type = ''] = types;
  const isJson = /^\s*application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/iu.test(type);
  if (isJson && types.every((each) => each === type)) return;
  const message = `the content type is ${JSON.stringify(cut(types.join(', ')))}; send application/json (UTF-8)`;
  throw new ApiRefusal('UnsupportedMediaTypeError', message, [{ path: 'header.Content-Type', message }]);
}

function bodyText(event: ApiEvent): string {
  const text = event.body ?? '';
  // Four characters of base64 stand for three bytes.
  const size = event.isBase64Encoded === true ? Math.ceil((text.length * 3) / 4) : utf8Bytes(text);
  if (size > MAX_BODY_BYTES) throw tooLarge(size);
  if (event.isBase64Encoded !== true || text === '') return text;
  const bytes = decodeBase64(text);
  if (bytes === null) throw new ApiRefusal('InvalidRequestError', 'the body is announced as base64 and is none');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiRefusal('InvalidRequestError', 'the body is not UTF-8');
  }
}

function tooLarge(size: number): ApiRefusal {
  const message = `the body has ${String(size)} bytes; ${String(MAX_BODY_BYTES)} are allowed: split the request`;
  return new ApiRefusal('BodyTooLargeError', message);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message quotes the body.
    throw new ApiRefusal('InvalidRequestError', 'the body is not JSON');
  }
}

/** What no request of ours has: depth, a key that stands for a prototype, half a character. */
function oddityOf(root: unknown): RequestProblem | null {
  const open: { readonly value: unknown; readonly path: string; readonly depth: number }[] = [
    { value: root, path: 'body', depth: 1 },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, depth } = next;
    if (typeof value === 'string' && !isWellFormed(value))
      return { path: cut(path), message: 'is no well-formed text' };
    if (typeof value !== 'object' || value === null) continue;
    if (depth > MAX_DEPTH) return { path: cut(path), message: `is nested more than ${String(MAX_DEPTH)} levels deep` };
    for (const [key, item] of Object.entries(value)) {
      if (key === '__proto__' || !isWellFormed(key))
        return { path: cut(path), message: 'has a key that no request has' };
      open.push({ value: item, path: Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, depth: depth + 1 });
    }
  }
  return null;
}
