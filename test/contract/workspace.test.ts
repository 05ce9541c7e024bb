import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import { createScratchWorkspace } from '#adapters/scratch-workspace';
import { createDiskWorkspace } from '#local/workspace';
import { startS3OnMoto, type S3OnMoto } from '#test/emulators/moto-s3';
import { tier } from '#test/runner/tier';

import { describeWorkspace } from './workspace-suite.ts';

describe('the workspace of a function', () => describeWorkspace((parent) => createScratchWorkspace(parent)));

describe('the workspace on one computer', () => describeWorkspace((parent) => createDiskWorkspace(parent)));

tier('moto')('the workspace of a function with signed requests of S3 on moto', () => {
  const folder = mkdtempSync(join(tmpdir(), 'workspace-s3-'));
  const workspace = createScratchWorkspace(join(folder, 'scratch'));
  let s3: S3OnMoto | undefined;
  beforeAll(async () => {
    s3 = await startS3OnMoto();
  });
  afterAll(async () => {
    await s3?.stop();
    rmSync(folder, { recursive: true });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  const artifacts = (): S3ArtifactStore => {
    if (s3 === undefined) throw new Error('the emulator did not start');
    return new S3ArtifactStore({ client: s3.client, buckets: s3.buckets });
  };

  it('downloads and reads what a URL gives, through no client that an environment could tell of a proxy', async () => {
    const store = artifacts();
    const ref = { bucket: 'references', key: 'answers/ü 1.json' } as const;
    const { sha256 } = await store.put(ref, '{"answer":42}');
    const url = await store.signGet(ref, 60);
    const viaFetch = vi.spyOn(globalThis, 'fetch');
    const viaGlobalAgent = vi.spyOn(http.globalAgent, 'createConnection');
    const scratch = await workspace.open();
    const file = await scratch.fileAt('reference', 'ü 1.json');
    await workspace.download(url, file, sha256);
    expect(readFileSync(file, 'utf8')).toBe('{"answer":42}');
    expect(await workspace.readUrl(url)).toBe('{"answer":42}');
    expect([viaFetch.mock.calls, viaGlobalAgent.mock.calls]).toEqual([[], []]);
    await scratch.remove();
  });

  it('uploads under a grant', async () => {
    const store = artifacts();
    const grant = await store.signUpload('artifacts', 'grades/g1/', 60, 1_000);
    await workspace.upload(grant, 'grades/g1/raw.json', '{"end":"returned"}');
    const content = await store.get({ bucket: 'artifacts', key: 'grades/g1/raw.json' });
    expect(Buffer.from(content).toString('utf8')).toBe('{"end":"returned"}');
  });
});
