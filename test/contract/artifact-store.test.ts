import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe } from 'vitest';

import { startObjectServer, type ObjectServer } from '#local/stores/object-server';
import { RequestSigner } from '#local/stores/request-signer';
import { openServedArtifacts, type ServedArtifacts } from '#local/stores/served-artifacts';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';

import { describeArtifactStore, describeSignatures } from './artifact-store-suite.ts';

let nowMs = Date.now();
const now = (): number => nowMs;
const pass = async (seconds: number): Promise<void> => {
  nowMs += seconds * 1_000;
};

describe('InMemoryArtifactStore', () => {
  let baseUrl = '';
  let server: ObjectServer | undefined;
  const signer = new RequestSigner(() => baseUrl, now);
  const store = new InMemoryArtifactStore(signer);
  beforeAll(async () => {
    server = await startObjectServer(store, signer);
    baseUrl = server.baseUrl;
  });
  afterAll(async () => {
    await server?.close();
  });
  describeArtifactStore(() => ({ store, pass }));
  describeSignatures(() => ({ store, pass }));
});

describe('DiskArtifactStore', () => {
  const root = mkdtempSync(join(tmpdir(), 'artifact-store-'));
  let served: ServedArtifacts | undefined;
  beforeAll(async () => {
    served = await openServedArtifacts(join(root, 'store'), now);
  });
  afterAll(async () => {
    await served?.close();
    rmSync(root, { recursive: true });
  });
  const harness = () => {
    if (served === undefined) throw new Error('the store did not open');
    return { store: served.store, pass };
  };
  describeArtifactStore(harness);
  describeSignatures(harness);
});
