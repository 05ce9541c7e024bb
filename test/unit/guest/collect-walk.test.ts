import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CollectLimits } from '#contracts/guest';
import { allowanceOf, walk, type Found } from '#guest/collect-walk';
import { listFolders } from '#guest/list-folders';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'examhall-walk-'));
});
afterEach(() => void execFileSync('rm', ['-rf', root]));

const limitsOf = (maxFiles: number): CollectLimits => ({ maxFiles, maxFileMiB: 1, maxTotalMiB: 1 });

async function walked(maxFiles: number): Promise<Found[]> {
  const found: Found[] = [];
  for await (const each of walk(Buffer.from(root), allowanceOf(limitsOf(maxFiles)))) found.push(each);
  return found;
}

const stopsOf = (found: readonly Found[]): number =>
  found.filter((each) => each.kind === 'settled' && each.entry.kind === 'other' && each.entry.skipped === 'too-many')
    .length;

/** Makes a folder of long names, entered step by step, and gives its path below the root. */
function deepFolder(name: string, levels: number): string {
  const below = Array.from({ length: levels }, () => name.repeat(200 / name.length)).join('/');
  mkdirSync(path.join(root, below), { recursive: true });
  return below;
}

/** As JSON six times as long. */
const LONG = '\u0001'.repeat(4000);

/** Names of one long link. */
function makeLinks(folder: string, count: number): void {
  const first = path.join(folder, 'l0');
  symlinkSync(LONG, first);
  for (let index = 1; index < count; index += 1) linkSync(first, path.join(folder, `l${index}`));
}

describe('a walk through a hostile folder', () => {
  it('makes a small report of 30,000 links with long targets', async () => {
    makeLinks(root, 30_000);
    const found = await walked(20_000);
    expect(JSON.stringify(found).length).toBeLessThan(64 * 1024 * 1024);
    const targets = found.flatMap((each) => (each.kind === 'settled' ? (each.entry.target ?? []) : []));
    expect(targets.length).toBeGreaterThan(1000);
    expect(new Set(targets)).toEqual(new Set([LONG.slice(0, 1024)]));
    expect(stopsOf(found)).toBe(1);
  }, 60_000);

  it('makes a small listing of links with long paths', async () => {
    const folder = path.join(root, deepFolder('d', 18));
    makeLinks(folder, 5_000);
    const roots = [{ path: root, keyPrefix: 'o/', as: 'agent' as const }];
    const report = await listFolders({ roots, limits: limitsOf(20_000) });
    const entries = report.roots[0]?.entries ?? [];
    expect(entries.length).toBeGreaterThan(100);
    expect(entries.length).toBeLessThan(1000);
    expect(entries.filter((each) => 'settled' in each && each.settled.skipped === 'too-many')).toHaveLength(1);
  }, 60_000);

  it('stops in many empty folders, and says so once', async () => {
    for (let index = 0; index < 10_020; index += 1) mkdirSync(path.join(root, `d${index}`));
    writeFileSync(path.join(root, 'z'), 'x');
    const found = await walked(10);
    expect(found).toHaveLength(1);
    expect(stopsOf(found)).toBe(1);
    expect((await walked(100)).map((each) => each.kind)).toEqual(['file']);
  }, 120_000);

  it('says once that it stopped, however deep it was and whatever the last path counted', async () => {
    const below = deepFolder('e', 10);
    for (let index = 0; index < 1000; index += 1) symlinkSync('x', path.join(root, below, `l${index}`));
    for (const name of ['f', 'g']) mkdirSync(path.join(root, name));
    const found = await walked(0);
    expect(stopsOf(found)).toBe(1);
    expect(found.length).toBeLessThan(1000);
  });
});

describe('a walk through an ordinary folder', () => {
  it('gives every file up to the limit, with thousands of folders and links beside them', async () => {
    for (let folder = 0; folder < 100; folder += 1) {
      const here = path.join(root, `package-${folder}`, 'source');
      mkdirSync(here, { recursive: true });
      for (let file = 0; file < 50; file += 1) writeFileSync(path.join(here, `module-${file}.ts`), '');
      symlinkSync('module-0.ts', path.join(here, 'latest.ts'));
    }
    const found = await walked(5000);
    expect(found.filter((each) => each.kind === 'file')).toHaveLength(5000);
    expect(found).toHaveLength(5100);
    expect(stopsOf(found)).toBe(0);
  }, 60_000);
});
