import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { tier } from '#test/runner/tier';

import { runUnderMount } from './probe-process.ts';

const SMALL_DISK = 'mount -t tmpfs -o size=2m tmpfs "$1"';
const READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"';

tier('isolation')('stores on a disk in trouble', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'disk-trouble-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const full = (path: string) => ({
    error: 'StorageFullError',
    message: expect.stringMatching(/^no space is left to write .*free space/) as string,
    details: { path: expect.stringContaining(join(folder, path)) as string, code: 'ENOSPC' },
  });
  const readOnly = (path: string, code = 'EROFS') => ({
    error: 'StorageReadOnlyError',
    message: expect.stringMatching(/cannot be written .*make its folder writable/) as string,
    details: {
      path: expect.stringContaining(join(folder, path)) as string,
      code: expect.stringContaining(code) as string,
    },
  });

  it('a full one refuses objects by name, keeps the old ones and goes on with what fits', () => {
    const lines = runUnderMount(SMALL_DISK, 'fill-objects', folder);
    expect(lines).toEqual([
      full('objects/objects/artifacts/kept'),
      full('objects/objects/tasks/new'),
      { key: 'kept/object', sizeBytes: 3, sha256: expect.any(String) as string },
      'old',
      [],
      { key: 'kept/object', sizeBytes: 16, sha256: expect.any(String) as string },
    ]);
  });

  it('a full one refuses rows by name and keeps every row that was acknowledged', () => {
    const [refusal, old, kept] = runUnderMount(SMALL_DISK, 'fill-rows', folder);
    expect(refusal).toMatchObject({ error: 'StorageFullError', details: { path: join(folder, 'rows/units.sqlite') } });
    expect([old, kept]).toEqual([{ text: 'old' }, [true, true]]);
  });

  it('a read-only one refuses every write by name and still gives objects', () => {
    expect(runUnderMount('true', 'prepare', folder)).toEqual(['prepared']);
    const lines = runUnderMount(READ_ONLY, 'read-only', folder);
    expect(lines).toEqual([
      readOnly('objects/objects/artifacts/kept'),
      readOnly('objects/objects/artifacts/kept'),
      readOnly('out'),
      'old',
      readOnly('rows/units.sqlite', 'SQLITE_'),
      readOnly('fresh'),
    ]);
  });
});
