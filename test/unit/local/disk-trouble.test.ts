import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tier } from '#test/runner/tier';
import { runUnderMount } from './stores/probe-process.ts';

const SMALL_DISK = 'mount -t tmpfs -o size=2m tmpfs "$1"';
const READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"';
const PROBE = fileURLToPath(new URL('./tree-probe.ts', import.meta.url));

tier('isolation')('the run tree and the workspace on a disk in trouble', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'tree-trouble-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('a full one fails by name, keeps what was there, leaves no half file and goes on with what fits', () => {
    const [first, large, kept, download, line, event, lines, files, small] = runUnderMount(
      SMALL_DISK,
      'fill',
      folder,
      PROBE,
    );
    expect([first, large, kept, download, line, event, lines, small]).toEqual([
      'done',
      'StorageFullError',
      'old',
      'StorageFullError',
      'done',
      'StorageFullError',
      '{"n":1}\n',
      'done',
    ]);
    expect(files).toEqual([['tree'], ['events.jsonl', 'run.json']]);
  });

  it('a read-only one refuses every write by name and still lists its files', () => {
    expect(runUnderMount('true', 'prepare', folder, PROBE)).toEqual(['done']);
    expect(runUnderMount(READ_ONLY, 'read-only', folder, PROBE)).toEqual([
      'StorageReadOnlyError',
      'StorageReadOnlyError',
      'StorageReadOnlyError',
      'StorageReadOnlyError',
      ['run.json'],
    ]);
  });
});
