import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createDiskRunTree } from '#local/run-tree';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';

const root = mkdtempSync(path.join(tmpdir(), 'run-tree-'));
const tree = createDiskRunTree(root, new InMemoryArtifactStore());

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

describe('opening a run folder', () => {
  it('gives runs of the same second folders of their own', async () => {
    const first = await tree.open('agent/model/task/v0', '20260102_030405');
    await tree.appendEvent(first, '{}');
    const second = await tree.open('agent/model/task/v0', '20260102_030405');
    expect([first, second]).toEqual(['agent/model/task/v0/20260102_030405', 'agent/model/task/v0/20260102_030405_01']);
  });

  it('takes an empty folder that a host left which ended while it opened it', async () => {
    mkdirSync(path.join(root, 'agent/model/task/v1/20260102_030405'), { recursive: true });
    expect(await tree.open('agent/model/task/v1', '20260102_030405')).toBe('agent/model/task/v1/20260102_030405');
  });

  it('does not lie outside the tree', async () => {
    await expect(tree.open('../elsewhere', '20260102_030405')).rejects.toMatchObject({ name: 'UnsafePathError' });
  });
});

describe('finished runs', () => {
  const run = (unitDir: string, stamp: string) => `${unitDir}/${stamp}`;
  const runJson = JSON.stringify({ status: 'completed', score: 1, task: { revision: 'sha256:r' } });

  it('are those with a run.json, in order of their stamps, with or without a record of ours', async () => {
    const unitDir = 'agent/model/task/v2';
    await tree.write(run(unitDir, '20260102_030406'), 'run.json', runJson);
    await tree.write(run(unitDir, '20260102_030405'), 'run.json', runJson);
    await tree.write(run(unitDir, '20260102_030405'), 'record.json', JSON.stringify({ ledgerClass: 'scored' }));
    await tree.write(run(unitDir, '20260102_030407'), 'events.jsonl', '{}');
    const found = await tree.finished(unitDir);
    expect(found.map(({ runDir, ledgerClass }) => [runDir, ledgerClass])).toEqual([
      [run(unitDir, '20260102_030405'), 'scored'],
      [run(unitDir, '20260102_030406'), null],
    ]);
    expect(await tree.finished('agent/model/task/never')).toEqual([]);
  });

  it('do not include one whose record was cut off', async () => {
    const unitDir = 'agent/model/task/v3';
    await tree.write(run(unitDir, '20260102_030405'), 'run.json', runJson);
    await tree.write(run(unitDir, '20260102_030405'), 'record.json', '{"attemptsBefore": [');
    expect(await tree.finished(unitDir)).toEqual([]);
  });
});

describe('writing', () => {
  it('replaces files whole, keeps every line of events, and never leaves the tree', async () => {
    const runDir = await tree.open('agent/model/task/v4', '20260102_030405');
    await tree.write(runDir, 'a/b.json', 'one');
    await tree.write(runDir, 'a/b.json', 'two');
    await tree.appendEvent(runDir, '{"n":1}');
    await tree.appendEvent(runDir, '{"n":2}');
    const files = await tree.list(runDir);
    expect(files.map(({ path: file, sizeBytes }) => [file, sizeBytes])).toEqual([
      ['a/b.json', 3],
      ['events.jsonl', 16],
    ]);
    for (const outside of ['../20260102_030406/run.json', '../../../../../../out', '/etc/out', 'a\0b']) {
      await expect(tree.write(runDir, outside, 'x')).rejects.toMatchObject({ name: 'UnsafePathError' });
    }
  });
});

it('a tree named by a relative path is the same tree', async () => {
  const relative = createDiskRunTree(path.relative(process.cwd(), root), new InMemoryArtifactStore());
  await relative.write('agent/model/task/v5/20260102_030405', 'run.json', '{}');
  expect((await tree.list('agent/model/task/v5/20260102_030405')).map((file) => file.path)).toEqual(['run.json']);
});
