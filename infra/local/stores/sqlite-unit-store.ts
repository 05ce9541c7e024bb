import { dirname } from 'node:path';

import Database from 'libsql';

import { ExamHallError } from '#core/errors';
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
import type { Row, RowKey, RowPage, RowQuery, RowWrite, UnitStore } from '#ports/unit-store';

import { storageError } from '#core/storage-error';
import { makeFolder } from './make-folder.ts';

/** "ExHa": tells our files from other programs' databases. */
const APPLICATION_ID = 0x45784861;
const FORMAT = 1;
const DEFAULT_BUSY_TIMEOUT_MS = 5_000;
/** Pages that the log may hold before they are moved into the file, 16 MiB: rows are rewritten often, and moved once. */
const WAL_PAGES = 4_096;
/** Rows read per statement, so that a page of large rows is not read whole only to be cut. */
const CHUNK_ROWS = 64;

// Keys are blobs: they sort as UTF-8 bytes, and a text with U+0000 in it would be read back cut short.
const SCHEMA = `CREATE TABLE IF NOT EXISTS unit_rows (
  pk BLOB NOT NULL, sk BLOB NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (pk, sk)
) WITHOUT ROWID`;

const UPSERT = `INSERT INTO unit_rows (pk, sk, version, body) VALUES (?, ?, ?, ?)
  ON CONFLICT (pk, sk) DO UPDATE SET version = excluded.version, body = excluded.body`;

type Statement = Database.Statement;

/**
 * The unit store in one SQLite file. Every call is one synchronous transaction; a process killed at any moment
 * leaves whole transactions only. Another process may use the same file: it waits up to `busyTimeoutMs` for a lock.
 */
export class SqliteUnitStore implements UnitStore {
  readonly #path: string;
  readonly #database: Database.Database;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #select: Statement;
  readonly #upsert: Statement;
  readonly #delete: Statement;
  readonly #ascending: Statement;
  readonly #descending: Statement;

  /** Opens or makes the file and its folder. @throws StorageReadOnlyError, StorageFullError, StoreUnavailableError */
  constructor(path: string, options: { readonly busyTimeoutMs?: number } = {}) {
    this.#path = path;
    this.#database = openDatabase(path, options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS);
    const page = 'SELECT sk, version, body FROM unit_rows WHERE pk = ? AND sk >= ? AND sk < ? ORDER BY sk';
    this.#begin = this.#prepare('BEGIN IMMEDIATE');
    this.#commit = this.#prepare('COMMIT');
    this.#select = this.#prepare('SELECT version, body FROM unit_rows WHERE pk = ? AND sk = ?').raw();
    this.#upsert = this.#prepare(UPSERT);
    this.#delete = this.#prepare('DELETE FROM unit_rows WHERE pk = ? AND sk = ?');
    this.#ascending = this.#prepare(`${page} LIMIT ?`).raw();
    this.#descending = this.#prepare(`${page} DESC LIMIT ?`).raw();
  }

  /** Moves everything into the one file where it can. Safe to call twice; the store cannot be used afterwards. */
  close(): void {
    if (!this.#database.open) return;
    try {
      this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
    } catch {
      // On a full or busy disk the rows stay in the log beside the file, where the next opening finds them.
    }
    this.#database.close();
  }

  async get(key: RowKey): Promise<Row | undefined> {
    const checked = checkKey(key);
    return this.#guard(() => this.#read(checked));
  }

  async query(query: RowQuery): Promise<RowPage> {
    const asked = prepareQuery(query);
    return this.#guard(() => this.#readPage(asked));
  }

  async write(writes: readonly RowWrite[]): Promise<void> {
    const prepared = prepareWrites(writes);
    this.#guard(() => this.#transact(prepared));
  }

  #transact(writes: readonly PreparedWrite[]): void {
    this.#begin.run();
    try {
      const rows = writes.map((write) => {
        const row = this.#read(write.key);
        if (!conditionHolds(write.when, row?.version)) throw conditionFailed(write, row ?? null);
        return { write, version: row?.version ?? 0 };
      });
      for (const { write, version } of rows) {
        const key = [toBlob(write.key.pk), toBlob(write.key.sk)];
        if (write.kind === 'remove') this.#delete.run(...key);
        if (write.json !== null) this.#upsert.run(...key, version + 1, write.json);
      }
      this.#commit.run();
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #read(key: RowKey): Row | undefined {
    const found = this.#select.get(toBlob(key.pk), toBlob(key.sk)) as [number, string] | undefined;
    if (found === undefined) return undefined;
    return { ...key, version: found[0], body: decodeBody(found[1]) };
  }

  #readPage(asked: PreparedQuery): RowPage {
    const pk = toBlob(asked.pk);
    let [lower, upper] = bounds(asked);
    const rows: Row[] = [];
    let bytes = 0;
    for (;;) {
      const chunk = Math.min(CHUNK_ROWS, asked.limit - rows.length);
      const statement = asked.descending ? this.#descending : this.#ascending;
      const found = statement.all(pk, lower, upper, chunk) as [Uint8Array, number, string][];
      for (const [sk, version, json] of found) {
        const key = { pk: asked.pk, sk: Buffer.from(sk).toString('utf8') };
        rows.push({ ...key, version, body: decodeBody(json) });
        bytes += rowBytes(key, json);
        if (rows.length === asked.limit || bytes > ROW_LIMITS.pageBytes) {
          return { rows, cursor: cursorBehind(asked, key.sk) };
        }
        if (asked.descending) upper = toBlob(key.sk);
        else lower = justAfter(key.sk);
      }
      if (found.length < chunk) return { rows };
    }
  }

  #prepare(sql: string): Statement {
    return this.#guard(() => this.#database.prepare(sql));
  }

  #guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw storageError(error, this.#path);
    }
  }
}

function openDatabase(path: string, busyTimeoutMs: number): Database.Database {
  let database: Database.Database | undefined;
  try {
    makeFolder(dirname(path));
    database = new Database(path);
    database.exec(`PRAGMA busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
    const found = database.prepare('PRAGMA application_id').raw().get() as [number];
    const tables = database.prepare('SELECT count(*) FROM sqlite_schema').raw().get() as [number];
    if (found[0] !== APPLICATION_ID && tables[0] > 0) throw foreign(path, 'it is a database of another program');
    const format = database.prepare('PRAGMA user_version').raw().get() as [number];
    if (format[0] > FORMAT) throw foreign(path, `it has format ${format[0]}, and this version reads up to ${FORMAT}`);
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${WAL_PAGES}`);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT}; ${SCHEMA}`);
    return database;
  } catch (error) {
    database?.close();
    throw storageError(error, path);
  }
}

function foreign(path: string, why: string): ExamHallError {
  const message = `cannot use ${path} as the unit store: ${why}; name another file or move this one away`;
  return new ExamHallError('StoreUnavailableError', message, { path });
}

/** Half-open range of sort keys: [lower, upper). UTF-8 never holds the byte 0xff, so that is above every key. */
function bounds(asked: PreparedQuery): [Uint8Array, Uint8Array] {
  const prefix = toBlob(asked.prefix);
  const lowers = [prefix];
  const uppers = [Buffer.concat([prefix, Buffer.of(0xff)])];
  if (asked.after !== '') lowers.push(justAfter(asked.after));
  if (asked.resumeAfter !== null) {
    if (asked.descending) uppers.push(toBlob(asked.resumeAfter));
    else lowers.push(justAfter(asked.resumeAfter));
  }
  return [lowers.reduce((a, b) => (a.compare(b) < 0 ? b : a)), uppers.reduce((a, b) => (a.compare(b) < 0 ? a : b))];
}

function justAfter(text: string): Buffer<ArrayBuffer> {
  return Buffer.concat([toBlob(text), Buffer.of(0)]);
}

function toBlob(text: string): Buffer<ArrayBuffer> {
  return Buffer.from(text, 'utf8');
}
