import { ApiRefusal } from '#core/api-refusal';
import { decodeCursor, encodeCursor } from '#core/page-cursor';
import { cursorBehind, ROW_LIMITS } from '#core/row-rules';
import { isWellFormed, utf8Bytes } from '#core/utf8';
import type { Ports } from '#ports/ports';
import type { Row } from '#ports/unit-store';

export interface PageAsked {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | null;
}

/** The last key that a page before has seen; null for the first page. @throws InvalidRequestError for a cursor of another query. */
export function lastKeyIn(query: readonly unknown[], cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const lastKey = decodeCursor(query, cursor);
  if (isWellFormed(lastKey) && utf8Bytes(lastKey) <= ROW_LIMITS.skBytes) return lastKey;
  throw new ApiRefusal('InvalidRequestError', 'the cursor is damaged; leave it out to start again', [
    { path: 'query.cursor', message: 'is none that a page gave' },
  ]);
}

/** Continues a walk over a partition behind a row, in either direction. */
export function storeCursor(
  query: { readonly pk: string; readonly prefix?: string; readonly descending?: boolean },
  lastKey: string,
): string {
  const { pk, prefix = '', descending = false } = query;
  return cursorBehind({ pk, prefix, after: '', limit: 1, descending }, lastKey);
}

/** One page of a whole partition. */
export async function pageOfPartition<T>(
  query: { readonly pk: string; readonly descending?: boolean },
  { cursor, limit }: PageAsked,
  store: Ports['unitStore'],
  read: (row: Row) => Promise<T | null> | T | null,
): Promise<Page<T>> {
  const lastKey = lastKeyIn([query.pk], cursor);
  const page = await store.query({
    ...query,
    limit,
    ...(lastKey === null ? {} : { cursor: storeCursor(query, lastKey) }),
  });
  const items: T[] = [];
  for (const row of page.rows) {
    const item = await read(row);
    if (item !== null) items.push(item);
  }
  const last = page.rows.at(-1)?.sk ?? lastKey;
  return { items, cursor: page.cursor === undefined || last === null ? null : encodeCursor([query.pk], last) };
}
