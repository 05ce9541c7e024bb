import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { attemptId } from '#core/ids';
import { rowKeys, rowPrefixes } from '#core/keys';
import {
  AttemptRowSchema,
  TeardownRowSchema,
  UnitRowSchema,
  type AttemptRow,
  type TeardownRow,
  type UnitRow,
} from '#core/rows';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';
import type { Row, RowQuery } from '#ports/unit-store';

export interface FoundUnit {
  readonly treeRoot: string;
  readonly unit: UnitRow;
  readonly attempts: readonly { readonly attempt: AttemptRow; readonly teardown: readonly TeardownRow[] }[];
}

/** Units of all experiments below `root` whose id contains `wanted` (or is named by an attempt id), the exact one alone if there is one. */
export async function findUnits(root: string, wanted: string): Promise<readonly FoundUnit[]> {
  const text = wanted.replace(/\.[1-9]\d*$/u, '');
  const found: FoundUnit[] = [];
  const names = existsSync(root) ? readdirSync(root) : [];
  for (const name of names) {
    const treeRoot = path.join(root, name);
    const file = path.join(treeRoot, '.examhall', 'state.db');
    if (!existsSync(file)) continue;
    const store = new SqliteUnitStore(file);
    try {
      found.push(...(await matching(store, treeRoot, text)));
    } finally {
      store.close();
    }
  }
  const exact = found.filter(({ unit }) => unit.unitId === text);
  return exact.length === 1 ? exact : found;
}

async function matching(store: SqliteUnitStore, treeRoot: string, text: string): Promise<FoundUnit[]> {
  const found: FoundUnit[] = [];
  for (const sweep of await rowsOf(store, { pk: rowKeys.knownSweep('').pk })) {
    const { pk } = rowKeys.sweep(sweep.sk);
    for (const row of await rowsOf(store, { pk, skPrefix: rowPrefixes.unit })) {
      if (!row.sk.includes(text)) continue;
      const unit = UnitRowSchema.parse(row.body);
      found.push({ treeRoot, unit, attempts: await attemptsOf(store, unit) });
    }
  }
  return found;
}

async function attemptsOf(store: SqliteUnitStore, unit: UnitRow): Promise<FoundUnit['attempts']> {
  const { pk } = rowKeys.attempt(attemptId(unit.unitId, 1));
  const attempts = [];
  for (const row of await rowsOf(store, { pk, skPrefix: rowPrefixes.attempt })) {
    const attempt = AttemptRowSchema.parse(row.body);
    const rows = await rowsOf(store, { pk: rowKeys.teardown(attempt.attemptId, '', '').pk });
    attempts.push({ attempt, teardown: rows.map(({ body }) => TeardownRowSchema.parse(body)) });
  }
  return attempts;
}

async function rowsOf(store: SqliteUnitStore, query: RowQuery): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.query({ ...query, limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}
