import type { Filter, Tag } from '@aws-sdk/client-ec2';
import type { Tags } from './machine-record.ts';
import { ServiceError } from './service-error.ts';

/** What filters may ask of one thing; several values of one field are alternatives. */
export type FilterFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** True when every filter finds one of its values. @throws ServiceError for a filter that the operation does not have. */
export function matchesFilters(filters: readonly Filter[], tags: Tags, fields: FilterFields): boolean {
  return filters.every(({ Name = '', Values = [] }) => {
    const seen = valuesOf(Name, tags, fields);
    return Values.some((wanted) => seen.some((value) => matchesPattern(wanted, value)));
  });
}

function valuesOf(name: string, tags: Tags, fields: FilterFields): readonly string[] {
  if (name === 'tag-key') return [...tags.keys()];
  if (name.startsWith('tag:')) {
    const value = tags.get(name.slice('tag:'.length));
    return value === undefined ? [] : [value];
  }
  if (!(name in fields)) throw new ServiceError('InvalidParameterValue', `The filter '${name}' is invalid`);
  const found = fields[name];
  return found === undefined ? [] : [found].flat();
}

function matchesPattern(pattern: string, value: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/gu, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 'su').test(value);
}

export function tagList(tags: Tags): Tag[] {
  return [...tags].map(([Key, Value]) => ({ Key, Value }));
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly NextToken: string | undefined;
}

/** @throws ServiceError for a token that is not one of ours, and for sizes that the service refuses. */
export function pageOf<T>(
  all: readonly T[],
  { MaxResults, NextToken }: { MaxResults?: number | undefined; NextToken?: string | undefined },
): Page<T> {
  if (MaxResults !== undefined && (MaxResults < 5 || MaxResults > 1000))
    throw new ServiceError(
      'InvalidParameterValue',
      `Value (${String(MaxResults)}) for parameter maxResults is invalid.`,
    );
  const from = NextToken === undefined ? 0 : Number(/^page-(\d+)$/u.exec(NextToken)?.[1] ?? Number.NaN);
  if (Number.isNaN(from)) throw new ServiceError('InvalidNextToken', 'The next token is not valid');
  const to = from + (MaxResults ?? 1000);
  return { items: all.slice(from, to), NextToken: to < all.length ? `page-${String(to)}` : undefined };
}
