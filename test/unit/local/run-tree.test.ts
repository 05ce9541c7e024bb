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
