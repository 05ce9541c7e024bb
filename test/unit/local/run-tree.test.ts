import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createDiskRunTree } from '#local/run-tree';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';

const root = mkdtempSync(path.join(tmpdir(), 'run-tree-'));
const tree = createDiskRunTree(root, new InMemoryArtifactStore());

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

it('an empty folder that a host left which ended while it opened it is taken', async () => {
  mkdirSync(path.join(root, 'agent/model/task/v1/20260102_030405'), { recursive: true });
  expect(await tree.open('agent/model/task/v1', '20260102_030405')).toBe('agent/model/task/v1/20260102_030405');
});

it('a tree named by a relative path is the same tree', async () => {
  const relative = createDiskRunTree(path.relative(process.cwd(), root), new InMemoryArtifactStore());
  await relative.write('agent/model/task/v5/20260102_030405', 'run.json', '{}');
  expect((await tree.list('agent/model/task/v5/20260102_030405')).map((file) => file.path)).toEqual(['run.json']);
});
