import { ExamHallError } from './errors.ts';
import { isWellFormed, toWellFormed } from './utf8.ts';

const MAX_DEPTH = 100;

/**
 * A row's body as the JSON text that is stored. Texts become well-formed; what JSON would drop or change
 * (undefined, NaN, dates, class instances) is refused by its path.
 * @throws PayloadInvalidError
 */
export function encodeBody(body: unknown, rowName: string): string {
  if (!isPlainObject(body)) throw refused('body', rowName, body);
  return JSON.stringify(isSayable(body, 0) ? body : plainValue(body, 'body', rowName, 0));
}

/** The body that `encodeBody` made this text from. */
export function decodeBody(json: string): Readonly<Record<string, unknown>> {
  return JSON.parse(json) as Readonly<Record<string, unknown>>;
}

/** Whether JSON says the value as it is; the usual case, for which no copy is made. */
function isSayable(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'boolean') return true;
  if (typeof value === 'string') return isWellFormed(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (depth >= MAX_DEPTH) return false;
  if (Array.isArray(value)) return Array.from(value).every((item: unknown) => isSayable(item, depth + 1));
  if (!isPlainObject(value)) return false;
  for (const name of Object.keys(value)) {
    if (!isWellFormed(name) || !isSayable(value[name], depth + 1)) return false;
  }
  return true;
}

function plainValue(value: unknown, path: string, rowName: string, depth: number): unknown {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return toWellFormed(value);
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (depth >= MAX_DEPTH) {
    throw invalid(`${path.slice(0, 200)} of ${rowName} is nested more than ${MAX_DEPTH} levels deep; flatten it`, path);
  }
  if (Array.isArray(value)) {
    return Array.from(value, (item: unknown, at) => plainValue(item, `${path}[${at}]`, rowName, depth + 1));
  }
  if (!isPlainObject(value)) throw refused(path, rowName, value);
  const entries = Object.entries(value).map(([name, item]) => {
    return [toWellFormed(name), plainValue(item, `${path}.${name}`, rowName, depth + 1)] as const;
  });
  return Object.fromEntries(entries);
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function refused(path: string, rowName: string, value: unknown): ExamHallError {
  const allowed =
    path === 'body' ? 'a plain object is' : 'null, booleans, finite numbers, texts, lists and plain objects are';
  return invalid(`${path} of ${rowName} is ${kindOf(value)}; ${allowed} allowed`, path);
}

function kindOf(value: unknown): string {
  if (typeof value === 'number') return `${value}`;
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? `a ${value.constructor.name}` : typeof value;
}

function invalid(message: string, path: string): ExamHallError {
  return new ExamHallError('PayloadInvalidError', message, { path });
}
