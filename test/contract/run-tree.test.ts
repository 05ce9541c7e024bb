import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe } from 'vitest';

import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import { createS3RunTree } from '#adapters/s3-run-tree';
import { createDiskRunTree } from '#local/run-tree';
import { startS3OnMoto, type S3OnMoto } from '#test/emulators/moto-s3';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';
import { MemoryRunTree } from '#test/fakes/run-tree';
import { tier } from '#test/runner/tier';

import { describeRunTree, type RunTreeHarness } from './run-tree-suite.ts';

describe('MemoryRunTree', () => {
  const artifacts = new InMemoryArtifactStore();
  const tree = new MemoryRunTree(artifacts);
  describeRunTree(() => ({ tree, artifacts }));
});

describe('the run tree on disk', () => {
  const root = mkdtempSync(join(tmpdir(), 'run-tree-contract-'));
  const artifacts = new InMemoryArtifactStore();
  const tree = createDiskRunTree(root, artifacts);
  afterAll(() => rmSync(root, { recursive: true }));
  describeRunTree(() => ({ tree, artifacts }));
});

tier('moto')('the run tree in S3 on moto', () => {
  let s3: S3OnMoto | undefined;
  let harness: RunTreeHarness | undefined;
  beforeAll(async () => {
    s3 = await startS3OnMoto();
    const { client, buckets } = s3;
    const tree = createS3RunTree({ client, bucket: buckets.artifacts });
    harness = { tree, artifacts: new S3ArtifactStore({ client, buckets }) };
  });
  afterAll(async () => {
    await s3?.stop();
  });
  describeRunTree(() => {
    if (harness === undefined) throw new Error('the emulator did not start');
    return harness;
  });
});
