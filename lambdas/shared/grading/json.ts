import { isWithin } from './numbers.ts';

export type JsonReading =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

/** Parses JSON text; a byte order mark is skipped. Never throws for what the text holds. */
export function readJson(text: string): JsonReading {
  try {
    return { ok: true, value: JSON.parse(text.replace(/^\uFEFF/, '')) };
  } catch (error) {
    return { ok: false, reason: `not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The kind of a JSON value, as shape checks speak of it. */
export function jsonKind(value: unknown): 'null' | 'array' | 'object' | 'string' | 'number' | 'boolean' {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as 'object' | 'string' | 'number' | 'boolean';
}

/**
 * What keeps `actual` from having the shape of `expected`: the same members at every level, each of the same kind; the
 * elements of arrays are not looked at. Null when the shapes agree.
 */
export function findShapeFault(actual: unknown, expected: unknown, path = ''): string | null {
  const at = path === '' ? 'the document' : path;
  if (jsonKind(actual) !== jsonKind(expected)) return `${at} is ${jsonKind(actual)}, must be ${jsonKind(expected)}`;
  if (!isJsonObject(actual) || !isJsonObject(expected)) return null;
  const missing = Object.keys(expected).find((name) => !Object.hasOwn(actual, name));
  if (missing !== undefined) return `${path}/${missing} is missing`;
  const extra = Object.keys(actual).find((name) => !Object.hasOwn(expected, name));
  if (extra !== undefined) return `${path}/${extra} is not a member of this document`;
  for (const [name, value] of Object.entries(expected)) {
    const fault = findShapeFault(actual[name], value, `${path}/${name}`);
    if (fault !== null) return fault;
  }
  return null;
}

/** The leaves of a JSON document by JSON pointer; an empty array or object is a leaf of its own. */
export function listLeaves(value: unknown, path = ''): ReadonlyMap<string, unknown> {
  const members: [string, unknown][] = Array.isArray(value)
    ? value.map((member: unknown, index) => [String(index), member])
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  if (members.length === 0) return new Map([[path, value]]);
  return new Map(members.flatMap(([name, member]) => [...listLeaves(member, `${path}/${name}`)]));
}

export interface LeafComparison {
  readonly score: number;
  readonly rightLeaves: number;
  readonly leaves: number;
  /** Pointers of expected leaves that are missing or wrong. */
  readonly wrong: readonly string[];
}

/**
 * Compares the leaves of two documents: right leaves over expected and unexpected ones. Numbers within `tolerance` are equal,
 * everything else must be identical.
 */
export function compareLeaves(actual: unknown, expected: unknown, tolerance: number): LeafComparison {
  const [found, wanted] = [listLeaves(actual), listLeaves(expected)];
  const wrong = [...wanted].filter(([pointer, want]) => !isSameLeaf(found.get(pointer), want, tolerance));
  const extra = [...found.keys()].filter((pointer) => !wanted.has(pointer)).length;
  const leaves = wanted.size + extra;
  const rightLeaves = wanted.size - wrong.length;
  return { score: rightLeaves / leaves, rightLeaves, leaves, wrong: wrong.map(([pointer]) => pointer) };
}

function isSameLeaf(actual: unknown, expected: unknown, tolerance: number): boolean {
  if (typeof actual === 'number' && typeof expected === 'number') return isWithin(actual, expected, tolerance);
  return JSON.stringify(actual) === JSON.stringify(expected);
}
