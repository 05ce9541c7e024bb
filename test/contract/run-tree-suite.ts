import { createHash, randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import type { ArtifactStore } from '#ports/artifact-store';
import type { RunTree } from '#ports/run-tree';

/** A run tree under test and the store whose objects it copies. */
export interface RunTreeHarness {
  readonly tree: RunTree;
  readonly artifacts: ArtifactStore;
}

const STAMP = '20260102_030405';

const sha256 = (content: string): string => createHash('sha256').update(content).digest('hex');
const freshUnit = (): string => `agent/model/${randomUUID()}/v0`;

/** What every run tree must do. `harness` is asked again for each test; each has unit folders of its own. */
export function describeRunTree(harness: () => RunTreeHarness): void {
  describe('run folders', () => describeFolders(() => harness().tree));
  describe('files', () => describeFiles(harness));
  describe('events', () => describeEvents(() => harness().tree));
  describe('finished runs', () => describeFinished(() => harness().tree));
}

function describeFolders(tree: () => RunTree): void {
  it('of the same second are apart', async () => {
    const unitDir = freshUnit();
    const opened: string[] = [];
    for (let run = 0; run < 3; run += 1) {
      const runDir = await tree().open(unitDir, STAMP);
      await tree().appendEvent(runDir, '{}');
      opened.push(runDir);
    }
    expect(opened).toEqual([`${unitDir}/${STAMP}`, `${unitDir}/${STAMP}_01`, `${unitDir}/${STAMP}_02`]);
  });

  it('hold what was written to them and nothing of their neighbours', async () => {
    const unitDir = freshUnit();
    const runDir = await tree().open(unitDir, STAMP);
    await tree().write(runDir, 'run.json', '{}');
    await tree().write(`${runDir}_01`, 'run.json', '{}');
    await tree().write(unitDir, 'report.html', 'x');
    expect((await tree().list(runDir)).map(({ path }) => path)).toEqual(['run.json']);
    const below = (await tree().list(unitDir)).map(({ path }) => path);
    expect(below).toEqual([`${STAMP}/run.json`, `${STAMP}_01/run.json`, 'report.html']);
  });

  it('do not lie outside of the tree', async () => {
    for (const unitDir of ['../elsewhere', 'a/../../elsewhere', 'a\0b']) {
      await expect(tree().open(unitDir, STAMP)).rejects.toMatchObject({ name: 'UnsafePathError' });
      await expect(tree().write(unitDir, 'a', 'x')).rejects.toMatchObject({ name: 'UnsafePathError' });
      await expect(tree().appendEvent(unitDir, '{}')).rejects.toMatchObject({ name: 'UnsafePathError' });
    }
  });
}

function describeFiles(harness: () => RunTreeHarness): void {
  it('are replaced whole and told with size and hash, in the order of their paths', async () => {
    const { tree } = harness();
    const runDir = await tree.open(freshUnit(), STAMP);
    await tree.write(runDir, 'b.json', 'first and longer');
    await tree.write(runDir, 'b.json', 'two');
    await tree.write(runDir, 'a/ü \u{1f600}.txt', Buffer.from('bytes'));
    await tree.write(runDir, 'a/empty', '');
    expect(await tree.list(runDir)).toEqual([
      { path: 'a/empty', sizeBytes: 0, sha256: sha256('') },
      { path: 'a/ü \u{1f600}.txt', sizeBytes: 5, sha256: sha256('bytes') },
      { path: 'b.json', sizeBytes: 3, sha256: sha256('two') },
    ]);
  });

  it('are copied from objects, and stay when the object is gone', async () => {
    const { tree, artifacts } = harness();
    const runDir = await tree.open(freshUnit(), STAMP);
    const ref = { bucket: 'artifacts', key: `attempts/${randomUUID()}/output/a file` } as const;
    await artifacts.put(ref, 'content');
    await tree.copyObject(runDir, 'output/a file', ref.key);
    await artifacts.remove(ref);
    expect(await tree.list(runDir)).toEqual([{ path: 'output/a file', sizeBytes: 7, sha256: sha256('content') }]);
    await expect(tree.copyObject(runDir, 'output/b', ref.key)).rejects.toMatchObject({ name: 'ObjectNotFoundError' });
    expect(await tree.list(runDir)).toHaveLength(1);
  });

  it('are not folders, which may be made twice and under files', async () => {
    const { tree } = harness();
    const runDir = await tree.open(freshUnit(), STAMP);
    await tree.makeDir(runDir, 'output');
    await tree.makeDir(runDir, 'output');
    await tree.makeDir(runDir, 'screenshots/deep');
    await tree.write(runDir, 'screenshots/deep/0.png', 'png');
    expect((await tree.list(runDir)).map(({ path }) => path)).toEqual(['screenshots/deep/0.png']);
  });

  it('never lie outside of their run folder', async () => {
    const { tree, artifacts } = harness();
    const runDir = await tree.open(freshUnit(), STAMP);
    const ref = { bucket: 'artifacts', key: `attempts/${randomUUID()}/a` } as const;
    await artifacts.put(ref, 'content');
    for (const outside of [`../${STAMP}_01/run.json`, '../../../../../../out', '/etc/out', 'a\0b', 'a/../../b']) {
      await expect(tree.write(runDir, outside, 'x')).rejects.toMatchObject({ name: 'UnsafePathError' });
      await expect(tree.makeDir(runDir, outside)).rejects.toMatchObject({ name: 'UnsafePathError' });
      await expect(tree.copyObject(runDir, outside, ref.key)).rejects.toMatchObject({ name: 'UnsafePathError' });
    }
    expect(await tree.list(runDir)).toEqual([]);
  });
}

function describeEvents(tree: () => RunTree): void {
  it('are lines in the order they were added', async () => {
    const runDir = await tree().open(freshUnit(), STAMP);
    await tree().appendEvent(runDir, '{"n":1}');
    await tree().appendEvent(runDir, '{"n":"ü"}');
    const text = '{"n":1}\n{"n":"ü"}\n';
    expect(await tree().list(runDir)).toEqual([
      { path: 'events.jsonl', sizeBytes: Buffer.byteLength(text), sha256: sha256(text) },
    ]);
  });

  it('of many writers at once are all kept, each whole', async () => {
    const runDir = await tree().open(freshUnit(), STAMP);
    const lines = Array.from({ length: 12 }, (_, at) => `{"n":${String(at).padStart(4, '0')}}`);
    await Promise.all(lines.map((line) => tree().appendEvent(runDir, line)));
    await tree().appendEvent(runDir, '{"n":"last"}');
    const [file] = await tree().list(runDir);
    const sizes = [...lines, '{"n":"last"}'].map((line) => line.length + 1);
    expect(file?.sizeBytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
  });
}

function describeFinished(tree: () => RunTree): void {
  const runJson = JSON.stringify({ status: 'completed', score: 1, task: { revision: 'sha256:r' } });

  it('are those with a run.json, in order of their stamps, with or without a record of ours', async () => {
    const unitDir = freshUnit();
    await tree().write(`${unitDir}/20260102_030406`, 'run.json', runJson);
    await tree().write(`${unitDir}/20260102_030405`, 'run.json', runJson);
    await tree().write(`${unitDir}/20260102_030405`, 'record.json', JSON.stringify({ ledgerClass: 'scored' }));
    await tree().write(`${unitDir}/20260102_030407`, 'events.jsonl', '{}');
    const facts = { status: 'completed', revision: 'sha256:r', score: 1 };
    expect(await tree().finished(unitDir)).toEqual([
      { runDir: `${unitDir}/20260102_030405`, ...facts, ledgerClass: 'scored' },
      { runDir: `${unitDir}/20260102_030406`, ...facts, ledgerClass: null },
    ]);
  });

  it('of a unit that never ran are none, nor are those of a longer name', async () => {
    const unitDir = freshUnit();
    await tree().write(`${unitDir}0/20260102_030405`, 'run.json', runJson);
    expect(await tree().finished(unitDir)).toEqual([]);
  });

  it('do not include one whose record was cut off, nor folders of other names', async () => {
    const unitDir = freshUnit();
    await tree().write(`${unitDir}/20260102_030405`, 'run.json', runJson);
    await tree().write(`${unitDir}/20260102_030405`, 'record.json', '{"attemptsBefore": [');
    await tree().write(`${unitDir}/notes`, 'run.json', runJson);
    await tree().write(`${unitDir}/20260102_030406`, 'run.json', '{"status": ');
    expect(await tree().finished(unitDir)).toEqual([]);
  });
}
