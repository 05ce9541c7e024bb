import { createHash, randomUUID } from 'node:crypto';

/** Function of the JSONata dialect, as Step Functions adds it to the language. */
type DialectFunction = (...args: readonly unknown[]) => unknown;

const HASHES: ReadonlyMap<string, string> = new Map([
  ['MD5', 'md5'],
  ['SHA-1', 'sha1'],
  ['SHA-256', 'sha256'],
  ['SHA-384', 'sha384'],
  ['SHA-512', 'sha512'],
]);

/** Longest array `$range` builds before the evaluation's memory limit stops it. */
const MAX_RANGE_LENGTH = 360_145;

/** `$partition(array, size)`: chunks of `size`; nothing for an empty array or a size below one. */
function partition(array: unknown, size: unknown): unknown {
  if (array === undefined) return undefined;
  const items: readonly unknown[] = Array.isArray(array) ? array : [array];
  const width = wholeNumber(size, 'partition', 2);
  if (width === undefined || width < 1 || items.length === 0) return undefined;
  const chunks: unknown[][] = [];
  for (let start = 0; start < items.length; start += width) chunks.push(items.slice(start, start + width));
  return chunks;
}

/** `$range(start, end, step)`: inclusive; nothing without a step that leads from start to end. */
function range(start: unknown, end: unknown, step: unknown): unknown {
  const from = wholeNumber(start, 'range', 1);
  const to = wholeNumber(end, 'range', 2);
  const by = wholeNumber(step, 'range', 3);
  if (from === undefined || to === undefined || by === undefined || by === 0 || (to - from) * by < 0) return undefined;
  const length = Math.floor((to - from) / by) + 1;
  if (length > MAX_RANGE_LENGTH) throw new Error('Expression evaluation memory limit exceeded');
  return length === 1 ? from : Array.from({ length }, (_, index) => from + index * by);
}

/** `$hash(text, algorithm)` in hexadecimal. */
function hash(text: unknown, algorithm: unknown): unknown {
  if (text === undefined || algorithm === undefined) return undefined;
  const name = typeof algorithm === 'string' ? HASHES.get(algorithm) : undefined;
  if (typeof text !== 'string' || name === undefined) {
    throw new Error(`$hash takes a string and one of ${[...HASHES.keys()].join(', ')}`);
  }
  return createHash(name).update(text).digest('hex');
}

/** `$random(seed?)` in [0, 1): the same number for the same seed, though not the number AWS would draw. */
function random(seed: unknown): number {
  if (seed === undefined) return Math.random();
  if (typeof seed !== 'number') throw new Error('$random takes an optional number as its seed');
  let state = Math.trunc(seed) | 0;
  state = (state + 0x6d2b79f5) | 0;
  state = Math.imul(state ^ (state >>> 15), state | 1);
  state ^= state + Math.imul(state ^ (state >>> 7), state | 61);
  return ((state ^ (state >>> 14)) >>> 0) / 2 ** 32;
}

/** `$parse(text)`: the JSON value of a text. */
function parse(text: unknown): unknown {
  if (text === undefined) return undefined;
  if (typeof text !== 'string') throw new Error('$parse takes a string of JSON');
  return JSON.parse(text);
}

/** Integers are rounded towards zero, as the service does. */
function wholeNumber(value: unknown, name: string, position: number): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number') throw new Error(`$${name} takes a number as argument ${position}`);
  return Math.trunc(value);
}

/** Functions Step Functions adds to JSONata, by name without the dollar sign. */
export const DIALECT_FUNCTIONS: Readonly<Record<string, DialectFunction>> = {
  partition,
  range,
  hash,
  random,
  parse,
  uuid: () => randomUUID(),
};
