import type { Row, RowKey, RowPage, RowQuery, RowWrite } from '#core/row-rules';

export type { Row, RowCondition, RowKey, RowPage, RowQuery, RowWrite } from '#core/row-rules';

/**
 * The unit store: sweeps, units, attempts, slots, waits, ledgers and usage in one keyed table.
 * Reads are strongly consistent. Rows sort by `sk` as UTF-8 bytes. pk is 1 to 2,048 bytes, sk 1 to 1,024, a row at most 400 KB.
 * Bodies come back as JSON would give them back (`-0` as `0`, half a surrogate pair as U+FFFD).
 */
export interface UnitStore {
  /** @throws StoreUnavailableError, as every method here does when retries did not help. */
  get(key: RowKey): Promise<Row | undefined>;
  /** A page holds at most about 1 MB, so it may hold fewer rows than asked for, even none, and still have a cursor. */
  query(query: RowQuery): Promise<RowPage>;
  /**
   * All or nothing; 1 to 100 writes, at most 4 MB, no two on one key.
   * @throws ConditionFailedError naming the first key whose condition does not hold (`details.key`, `details.row` as stored or null).
   * @throws RowTooLargeError, PayloadInvalidError before anything is sent.
   */
  write(writes: readonly RowWrite[]): Promise<void>;
}
