/** Steps from the root of a parsed file to one value in it. */
export type ValuePath = readonly (string | number)[];

/** A place in a file as a person counts: lines and columns from 1. */
export interface Location {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One thing wrong with a file, with everything a person needs to put it right. */
export interface LocatedProblem extends Location {
  readonly path: ValuePath;
  readonly what: string;
  readonly got: string;
  readonly allowed: string;
  readonly action: string;
}

/** The four parts of a message; `got` is taken from the file when it is left out. */
export interface ProblemText {
  readonly what: string;
  readonly got?: string;
  readonly allowed: string;
  readonly action: string;
}

/** A parsed file that knows where its values came from. */
export interface ConfigSource {
  readonly file: string;
  readonly value: unknown;
  /** Where the value (or its key) is; for a path that does not exist, the nearest thing around it. */
  locate(path: ValuePath, part?: 'key' | 'value'): Location;
  /** The value as it may be printed: values that came from a secret are not shown. */
  show(path: ValuePath): string;
}

/** All problems of the files of one request. Blame is the caller's; nothing has started. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'ConfigError';
  readonly blame = 'caller';
  readonly retryable = false;
  readonly problems: readonly LocatedProblem[];

  constructor(problems: readonly LocatedProblem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.problems = problems;
  }
}

/** `<file>:<line>:<col>: <what>; got <value>; allowed: <...>; <what to do>` */
export function formatProblem(problem: LocatedProblem): string {
  const { file, line, column, what, got, allowed, action } = problem;
  return `${file}:${line}:${column}: ${what}; got ${got}; allowed: ${allowed}; ${action}`;
}

/** A problem at a known place, for findings that span files. */
export function problemAt(
  at: Location,
  text: ProblemText & { readonly got: string },
  path: ValuePath = [],
): LocatedProblem {
  return { file: at.file, line: at.line, column: at.column, path, ...text };
}

/** `file:line:column`, as editors and terminals link it. */
export function formatLocation({ file, line, column }: Location): string {
  return `${file}:${line}:${column}`;
}

const longestShown = 80;

/** A value in few words: scalars as JSON, collections by their size or keys. */
export function renderValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value !== 'object') return typeof value;
  const keys = Object.keys(value);
  return keys.length === 0
    ? 'an empty mapping'
    : shorten(`a mapping with ${plural('key', keys.length)} ${keys.join(', ')}`);
}

/** Names in quotes, separated by commas; for "allowed" lists. */
export function quoteList(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map((name) => JSON.stringify(name)).join(', ');
}

/** `tasks[2].variants` */
export function displayPath(path: ValuePath): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('');
}

/** A source for a value that was not read from a text: every place is line 1, column 1. */
export function plainSource(file: string, value: unknown): ConfigSource {
  return {
    file,
    value,
    locate: () => ({ file, line: 1, column: 1 }),
    show: (path) => renderValue(valueAt(value, path)),
  };
}

/** The value a path leads to, or undefined. Only own keys count. */
export function valueAt(root: unknown, path: ValuePath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** The candidate a person most likely meant, or null when none is close. */
export function closestName(name: string, candidates: readonly string[]): string | null {
  const most = Math.ceil(name.length / 3);
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate ?? null;
}

function shorten(text: string): string {
  return text.length <= longestShown ? text : `${text.slice(0, longestShown - 3)}...`;
}

function plural(noun: string, count: number): string {
  return count === 1 ? noun : `${noun}s`;
}

/** Levenshtein distance; names longer than 64 characters are never close to anything. */
function editDistance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Number.POSITIVE_INFINITY;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
