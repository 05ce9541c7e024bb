/** A stored row: keys, a version for optimistic concurrency, and a JSON body without undefined values. */
export interface Row {
  readonly pk: string;
  readonly sk: string;
  /** 1 on first write, one more on every later one. */
  readonly version: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RowKey {
  readonly pk: string;
  readonly sk: string;
}

/** What must be true of the row before the write: it is absent, it has this version, it exists, or nothing is asked. */
export type RowCondition = 'absent' | 'exists' | 'any' | { readonly version: number };

export type RowWrite =
  | { readonly put: RowKey & { readonly body: Readonly<Record<string, unknown>> }; readonly when: RowCondition }
  | { readonly remove: RowKey; readonly when: RowCondition }
  | { readonly check: RowKey; readonly when: RowCondition };

export interface RowQuery {
  readonly pk: string;
  readonly skPrefix?: string;
  /** Exclusive lower bound inside the partition. */
  readonly after?: string;
  /** 1 to 1,000; default 100. */
  readonly limit?: number;
  readonly cursor?: string;
  readonly descending?: boolean;
}

export interface RowPage {
  readonly rows: readonly Row[];
  /** Present when there may be more. Opaque; valid for the same query only. */
  readonly cursor?: string;
}

/**
 * The unit store: sweeps, units, attempts, slots, waits, ledgers and usage in one keyed table.
 * Reads are strongly consistent. Rows sort by `sk` as UTF-8 bytes. pk is at most 2,048 bytes, sk 1,024, a row 400 KB.
 */
export interface UnitStore {
  get(key: RowKey): Promise<Row | undefined>;
  query(query: RowQuery): Promise<RowPage>;
  /**
   * All or nothing; 1 to 100 writes, at most 4 MB, no two on one key.
   * @throws ConditionFailedError naming the first key whose condition does not hold (`details.key`, `details.row` as stored or null).
   */
  write(writes: readonly RowWrite[]): Promise<void>;
}
