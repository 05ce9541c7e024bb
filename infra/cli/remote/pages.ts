import type { ApiClient } from './api-client.ts';
import { RemoteError } from './remote-error.ts';

/** Above what any sweep or catalogue holds, at 200 a page. */
const MOST_PAGES = 500;
export const PAGE_SIZE = 200;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor: string | null;
}

/** Everything that a paged question answers with, up to `most` items. @throws RemoteError for pages that never end. */
export async function allPages<Item>(
  client: Pick<ApiClient, 'baseUrl'>,
  ask: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>,
  most: number = Number.POSITIVE_INFINITY,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  const seen = new Set<string>();
  let cursor: string | null = null;
  do {
    const page: Page<Item> = await ask({
      limit: Math.min(PAGE_SIZE, most - items.length),
      ...(cursor === null ? {} : { cursor }),
    });
    items.push(...page.items);
    cursor = page.cursor;
    if (cursor !== null && (seen.has(cursor) || seen.size >= MOST_PAGES)) {
      throw new RemoteError('host', `${client.baseUrl.host} gives pages without end`);
    }
    if (cursor !== null) seen.add(cursor);
  } while (cursor !== null && items.length < most);
  return items.slice(0, most);
}
