import type * as z from 'zod';
import { ExamHallError } from '#core/errors';
import { attemptId } from '#core/ids';
import { rowKeys, rowPrefixes } from '#core/keys';
import {
  AttemptRowSchema,
  SweepRowSchema,
  UnitRowSchema,
  type AttemptRow,
  type SweepRow,
  type UnitRow,
} from '#core/rows';
import { readBody, withConflictRetry } from '#core/stored-rows';
import type { Row, RowKey, RowWrite, UnitStore } from '#ports/unit-store';

/** A row's body, read by its schema, with the version to write against. */
export interface Versioned<T> {
  readonly value: T;
  readonly version: number;
}

export async function findRow<T>(
  store: UnitStore,
  key: RowKey,
  schema: z.ZodType<T>,
): Promise<Versioned<T> | undefined> {
  const row = await store.get(key);
  return row === undefined ? undefined : { value: readBody(schema, row), version: row.version };
}

async function mustFind<T>(store: UnitStore, key: RowKey, schema: z.ZodType<T>): Promise<Versioned<T>> {
  const found = await findRow(store, key, schema);
  if (found !== undefined) return found;
  throw new ExamHallError(
    'StoreUnavailableError',
    `row ${key.pk} ${key.sk} is missing; it is written before this stage`,
  );
}

export async function readSweep(store: UnitStore, sweepId: string): Promise<Versioned<SweepRow>> {
  return await mustFind(store, rowKeys.sweep(sweepId), SweepRowSchema);
}

export async function readUnit(store: UnitStore, sweepId: string, unitId: string): Promise<Versioned<UnitRow>> {
  return await mustFind(store, rowKeys.unit(sweepId, unitId), UnitRowSchema);
}

export async function readAttempt(store: UnitStore, id: string): Promise<Versioned<AttemptRow>> {
  return await mustFind(store, rowKeys.attempt(id), AttemptRowSchema);
}

/** Every attempt of a unit, in order. */
export async function attemptsOf(store: UnitStore, unitId: string): Promise<readonly AttemptRow[]> {
  const attempts: AttemptRow[] = [];
  const { pk } = rowKeys.attempt(attemptId(unitId, 1));
  for await (const row of allRows(store, { pk, skPrefix: rowPrefixes.attempt }))
    attempts.push(readBody(AttemptRowSchema, row));
  return attempts;
}

/** Number of a unit's newest attempt, whether or not its row has been told of it. */
export async function lastAttemptNumber(store: UnitStore, unit: Pick<UnitRow, 'unitId' | 'attempts'>): Promise<number> {
  const { pk } = rowKeys.attempt(attemptId(unit.unitId, 1));
  const { rows } = await store.query({ pk, skPrefix: rowPrefixes.attempt, descending: true, limit: 1 });
  const newest = rows[0];
  return Math.max(unit.attempts, newest === undefined ? 0 : readBody(AttemptRowSchema, newest).attempt);
}

/** An attempt as it is to be, if it still is as it was read. */
export function attemptWrite(row: AttemptRow, version: number): RowWrite {
  return { put: { ...rowKeys.attempt(row.attemptId), body: row }, when: { version } };
}

/** Reads, changes and writes an attempt; `also` joins the same transaction. */
export async function updateAttempt(
  store: UnitStore,
  id: string,
  change: (row: AttemptRow) => AttemptRow,
  also: readonly RowWrite[] = [],
): Promise<AttemptRow> {
  return await withConflictRetry(async () => {
    const now = await readAttempt(store, id);
    const next = change(now.value);
    await store.write([attemptWrite(next, now.version), ...also]);
    return next;
  });
}

export async function updateUnit(
  store: UnitStore,
  ids: { readonly sweepId: string; readonly unitId: string },
  change: (row: UnitRow) => UnitRow,
): Promise<UnitRow> {
  return await withConflictRetry(async () => {
    const now = await readUnit(store, ids.sweepId, ids.unitId);
    const next = change(now.value);
    await store.write([
      { put: { ...rowKeys.unit(ids.sweepId, ids.unitId), body: next }, when: { version: now.version } },
    ]);
    return next;
  });
}

/** Walks every page of a partition in order. */
export async function* allRows(
  store: UnitStore,
  query: { readonly pk: string; readonly skPrefix?: string },
): AsyncGenerator<Row> {
  let cursor: string | undefined;
  do {
    const page = await store.query({ ...query, limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
