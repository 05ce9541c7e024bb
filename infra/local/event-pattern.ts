/** One alternative of a pattern's list: an exact value, or one of the content filters. */
export type Matcher =
  | string
  | number
  | boolean
  | null
  | { readonly prefix: string }
  | { readonly exists: boolean }
  | { readonly 'anything-but': AnythingBut };

type Scalar = string | number;
type AnythingBut = Scalar | readonly Scalar[] | { readonly prefix: string };

/** A list of alternatives for a field, or a pattern for the object in it. */
export interface DetailPattern {
  readonly [field: string]: readonly Matcher[] | DetailPattern;
}

/** Which events a rule takes; a field that is left out takes any. */
export interface EventPattern {
  readonly source?: readonly Matcher[];
  readonly 'detail-type'?: readonly Matcher[];
  readonly detail?: DetailPattern;
}

const FILTERS = ['prefix', 'exists', 'anything-but'];

/**
 * Checks a pattern when its rule is made rather than when an event comes.
 * @throws Error naming the field and what is allowed there.
 */
export function assertPattern(pattern: EventPattern): void {
  const { source, 'detail-type': detailType, detail, ...rest } = pattern;
  const unknown = Object.keys(rest);
  if (unknown.length > 0) {
    throw new Error(`a pattern matches source, detail-type and detail; '${unknown.join("', '")}' is not matched here`);
  }
  for (const [field, matchers] of Object.entries({ source, 'detail-type': detailType })) {
    if (matchers !== undefined) assertMatchers(matchers, field);
  }
  if (detail !== undefined) assertDetail(detail, 'detail');
}

function assertDetail(pattern: DetailPattern, path: string): void {
  for (const [field, value] of Object.entries(pattern)) {
    if (isList(value)) assertMatchers(value, `${path}.${field}`);
    else if (typeof value === 'object') assertDetail(value, `${path}.${field}`);
    else throw new Error(`the pattern of '${path}.${field}' must be a list or an object, not ${JSON.stringify(value)}`);
  }
}

function assertMatchers(matchers: readonly Matcher[], path: string): void {
  if (matchers.length === 0) throw new Error(`the pattern of '${path}' is an empty list, which no event matches`);
  for (const matcher of matchers) {
    if (typeof matcher !== 'object' || matcher === null) continue;
    const [filter, ...more] = Object.keys(matcher);
    if (filter === undefined || more.length > 0 || !FILTERS.includes(filter)) {
      throw new Error(
        `the pattern of '${path}' has ${JSON.stringify(matcher)}; allowed filters: ${FILTERS.join(', ')}`,
      );
    }
  }
}

export interface MatchableEvent {
  readonly source: string;
  readonly detailType: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export function matchesPattern(pattern: EventPattern, event: MatchableEvent): boolean {
  const { source, 'detail-type': detailType, detail } = pattern;
  return (
    (source === undefined || matchesAny(source, event.source)) &&
    (detailType === undefined || matchesAny(detailType, event.detailType)) &&
    (detail === undefined || matchesDetail(detail, event.detail))
  );
}

function matchesDetail(pattern: DetailPattern, detail: unknown): boolean {
  const fields = isObject(detail) ? detail : {};
  return Object.entries(pattern).every(([field, expected]) => {
    const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
    return isList(expected) ? matchesAny(expected, value) : matchesDetail(expected, value);
  });
}

/** A list in the event matches when one of its elements does. */
function matchesAny(matchers: readonly Matcher[], value: unknown): boolean {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return matchers.some((matcher) =>
    isExists(matcher) ? matcher.exists === (value !== undefined) : values.some((item) => matchesOne(matcher, item)),
  );
}

function matchesOne(matcher: Exclude<Matcher, { exists: boolean }>, value: unknown): boolean {
  if (typeof matcher !== 'object' || matcher === null) return matcher === value;
  if ('prefix' in matcher) return typeof value === 'string' && value.startsWith(matcher.prefix);
  const excluded = matcher['anything-but'];
  if (value === undefined) return false;
  if (typeof excluded !== 'object') return value !== excluded;
  if ('prefix' in excluded) return typeof value === 'string' && !value.startsWith(excluded.prefix);
  return !excluded.some((item) => item === value);
}

function isExists(matcher: Matcher): matcher is { readonly exists: boolean } {
  return typeof matcher === 'object' && matcher !== null && 'exists' in matcher;
}

function isList(value: readonly Matcher[] | DetailPattern): value is readonly Matcher[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
