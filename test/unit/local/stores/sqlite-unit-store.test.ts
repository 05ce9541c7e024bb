import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';

import { startProbe } from './probe-process.ts';

const ROW = { pk: 'pk', sk: 'sk' };

describe('SqliteUnitStore as a file', () => {
  let folder = '';
  let path = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sqlite-'));
    path = join(folder, 'made on the way', 'units.sqlite');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('keeps its rows in one file when it is closed', async () => {
    const first = new SqliteUnitStore(path);
    await first.write([{ put: { ...ROW, body: { n: 1 } }, when: 'absent' }]);
    first.close();
    first.close();
    copyFileSync(path, join(folder, 'copy.sqlite'));
    const second = new SqliteUnitStore(join(folder, 'copy.sqlite'));
    expect(await second.get(ROW)).toEqual({ ...ROW, version: 1, body: { n: 1 } });
    second.close();
  });

  it('may be open twice: each sees what the other wrote, and versions guard both', async () => {
    const [first, second] = [new SqliteUnitStore(path), new SqliteUnitStore(path)];
    await first.write([{ put: { ...ROW, body: { by: 1 } }, when: 'absent' }]);
    await second.write([{ put: { ...ROW, body: { by: 2 } }, when: { version: 1 } }]);
    await expect(first.write([{ put: { ...ROW, body: {} }, when: { version: 1 } }])).rejects.toMatchObject({
      name: 'ConditionFailedError',
      details: { row: { version: 2, body: { by: 2 } } },
    });
    first.close();
    second.close();
  });

  it('says so when another process holds the file for longer than it may wait', async () => {
    const store = new SqliteUnitStore(path, { busyTimeoutMs: 50 });
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    await expect(store.write([{ put: { ...ROW, body: {} }, when: 'any' }])).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      retryable: true,
      message: expect.stringMatching(/units\.sqlite.*another process holds it/) as string,
    });
    expect(await store.get(ROW)).toBeUndefined();
    other.exec('ROLLBACK');
    await store.write([{ put: { ...ROW, body: {} }, when: 'absent' }]);
    other.close();
    store.close();
  });

  it('waits for another process that holds the file for a moment', async () => {
    const store = new SqliteUnitStore(join(folder, 'rows', 'units.sqlite'), { busyTimeoutMs: 20_000 });
    const ended = await startProbe('hold-lock', folder);
    await store.write([{ put: { ...ROW, body: { n: 1 } }, when: 'absent' }]);
    expect((await store.get(ROW))?.body).toEqual({ n: 1 });
    await ended();
    store.close();
  });

  it('refuses files that are not its own and leaves them as they are', () => {
    const text = join(folder, 'notes.txt');
    writeFileSync(text, 'these are notes and no database, and they are long enough to be looked at '.repeat(20));
    expect(() => new SqliteUnitStore(text)).toThrow(/notes\.txt: file is not a database/);
    const foreign = join(folder, 'foreign.sqlite');
    const other = new Database(foreign);
    other.exec('CREATE TABLE theirs (id INTEGER)');
    expect(() => new SqliteUnitStore(foreign)).toThrow(/database of another program/);
    expect(other.prepare('SELECT name FROM sqlite_schema').pluck().all()).toHaveLength(1);
    other.close();
  });

  it('refuses the format of a later version', () => {
    new SqliteUnitStore(path).close();
    const later = new Database(path);
    later.exec('PRAGMA user_version = 2');
    later.close();
    expect(() => new SqliteUnitStore(path)).toThrow(/has format 2, and this version reads up to 1/);
  });
});
