import { ExamHallError } from '#core/errors';
import { conditionHolds, ROW_LIMITS, type RowCondition } from '#core/row-rules';
import { compareUtf8 } from '#core/utf8';
import type { Row, RowKey, RowPage, RowQuery, RowWrite, UnitStore } from '#ports/unit-store';

/**
 * A unit store that does no more than it must: bodies are kept as they are given, limits are left to the stores' own contract
 * tests. Rows can be looked at without a call.
 */
export class LeanStore implements UnitStore {
  readonly #partitions = new Map<string, Map<string, Row>>();

  peek({ pk, sk }: RowKey): Row | undefined {
    return this.#partitions.get(pk)?.get(sk);
  }

  rowsIn(pk: string): readonly Row[] {
    return [...(this.#partitions.get(pk)?.values() ?? [])];
  }

  /** Partitions with rows whose key begins like this. */
  partitions(prefix: string): readonly string[] {
    return [...this.#partitions].flatMap(([pk, rows]) => (pk.startsWith(prefix) && rows.size > 0 ? [pk] : []));
  }

  async get(key: RowKey): Promise<Row | undefined> {
    return this.peek(key);
  }

  async query({ pk, skPrefix = '', after = '', limit, cursor, descending = false }: RowQuery): Promise<RowPage> {
    const partition = this.#partitions.get(pk);
    if (partition === undefined || partition.size === 0) return { rows: [] };
    const order = descending ? -1 : 1;
    const found = [...partition.values()]
      .filter(({ sk }) => sk.startsWith(skPrefix) && (after === '' || compareUtf8(sk, after) > 0))
      .filter(({ sk }) => cursor === undefined || order * compareUtf8(sk, cursor) > 0)
      .sort((one, other) => order * compareUtf8(one.sk, other.sk));
    const most = limit ?? ROW_LIMITS.defaultPageRows;
    const rows = found.slice(0, most);
    const last = rows.at(-1);
    return last === undefined || found.length <= most ? { rows } : { rows, cursor: last.sk };
  }

  async write(writes: readonly RowWrite[]): Promise<void> {
    for (const write of writes) {
      const key = keyOf(write);
      const row = this.peek(key);
      if (!conditionHolds(write.when, row?.version)) throw conflict(key, write.when);
    }
    for (const write of writes) this.#apply(write);
  }

  #apply(write: RowWrite): void {
    if ('check' in write) return;
    if ('remove' in write) {
      this.#partitions.get(write.remove.pk)?.delete(write.remove.sk);
      return;
    }
    const { pk, sk, body } = write.put;
    const partition = this.#partitions.get(pk) ?? new Map<string, Row>();
    const version = (partition.get(sk)?.version ?? 0) + 1;
    partition.set(sk, { pk, sk, version, body });
    this.#partitions.set(pk, partition);
  }
}

export function keyOf(write: RowWrite): RowKey {
  return 'put' in write ? write.put : 'remove' in write ? write.remove : write.check;
}

function conflict(key: RowKey, when: RowCondition): ExamHallError {
  const wanted = typeof when === 'string' ? when : `version ${String(when.version)}`;
  return new ExamHallError('ConditionFailedError', `${key.pk} / ${key.sk} is not ${wanted}`);
}
