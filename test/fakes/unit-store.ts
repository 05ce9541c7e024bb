import { decodeBody } from '#core/row-body';
import {
  checkKey,
  conditionFailed,
  conditionHolds,
  cursorBehind,
  prepareQuery,
  prepareWrites,
  ROW_LIMITS,
  rowBytes,
  type PreparedQuery,
  type PreparedWrite,
} from '#core/row-rules';
import { compareUtf8 } from '#core/utf8';
import type { Row, RowKey, RowPage, RowQuery, RowWrite, UnitStore } from '#ports/unit-store';

export type UnitStoreCall =
  { readonly get: RowKey } | { readonly query: RowQuery } | { readonly write: readonly RowWrite[] };

interface StoredRow {
  readonly key: RowKey;
  readonly version: number;
  readonly json: string;
}

/** A unit store in memory. Keeps every call in `calls`; `failNext` makes coming calls fail before they do anything. */
export class InMemoryUnitStore implements UnitStore {
  readonly calls: UnitStoreCall[] = [];
  readonly #partitions = new Map<string, Map<string, StoredRow>>();
  #failures: { left: number; readonly error: Error } | undefined;

  /** The next `count` calls reject with this error. */
  failNext(count: number, error: Error): void {
    this.#failures = { left: count, error };
  }

  async get(key: RowKey): Promise<Row | undefined> {
    this.#begin({ get: key });
    return this.#read(checkKey(key));
  }

  async query(query: RowQuery): Promise<RowPage> {
    this.#begin({ query });
    const asked = prepareQuery(query);
    const partition = this.#partitions.get(asked.pk) ?? new Map<string, StoredRow>();
    const order = asked.descending ? -1 : 1;
    const found = [...partition.values()]
      .filter((stored) => isAsked(stored.key.sk, asked))
      .sort((left, right) => order * compareUtf8(left.key.sk, right.key.sk));
    return takePage(found, asked);
  }

  async write(writes: readonly RowWrite[]): Promise<void> {
    this.#begin({ write: writes });
    const prepared = prepareWrites(writes);
    for (const write of prepared) {
      const row = this.#read(write.key);
      if (!conditionHolds(write.when, row?.version)) throw conditionFailed(write, row ?? null);
    }
    for (const write of prepared) this.#apply(write);
  }

  #begin(call: UnitStoreCall): void {
    this.calls.push(call);
    if (this.#failures === undefined || this.#failures.left < 1) return;
    this.#failures.left -= 1;
    throw this.#failures.error;
  }

  #read(key: RowKey): Row | undefined {
    const stored = this.#partitions.get(key.pk)?.get(key.sk);
    return stored === undefined ? undefined : toRow(stored);
  }

  #apply(write: PreparedWrite): void {
    if (write.kind === 'remove') this.#partitions.get(write.key.pk)?.delete(write.key.sk);
    if (write.json === null) return;
    const partition = this.#partitions.get(write.key.pk) ?? new Map<string, StoredRow>();
    const version = (partition.get(write.key.sk)?.version ?? 0) + 1;
    partition.set(write.key.sk, { key: write.key, version, json: write.json });
    this.#partitions.set(write.key.pk, partition);
  }
}

function isAsked(sk: string, asked: PreparedQuery): boolean {
  if (!sk.startsWith(asked.prefix)) return false;
  if (asked.after !== '' && compareUtf8(sk, asked.after) <= 0) return false;
  if (asked.resumeAfter === null) return true;
  const order = compareUtf8(sk, asked.resumeAfter);
  return asked.descending ? order < 0 : order > 0;
}

function takePage(found: readonly StoredRow[], asked: PreparedQuery): RowPage {
  const rows: Row[] = [];
  let bytes = 0;
  for (const stored of found) {
    rows.push(toRow(stored));
    bytes += rowBytes(stored.key, stored.json);
    if (rows.length === asked.limit || bytes > ROW_LIMITS.pageBytes) {
      return { rows, cursor: cursorBehind(asked, stored.key.sk) };
    }
  }
  return { rows };
}

function toRow(stored: StoredRow): Row {
  return { ...stored.key, version: stored.version, body: decodeBody(stored.json) };
}
