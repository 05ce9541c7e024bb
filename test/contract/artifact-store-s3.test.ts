import { afterAll, beforeAll } from 'vitest';

import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import { startS3OnMoto, type S3OnMoto } from '#test/emulators/moto-s3';
import { tier } from '#test/runner/tier';

import { describeArtifactStore } from './artifact-store-suite.ts';

tier('moto')('S3ArtifactStore on moto', () => {
  let s3: S3OnMoto | undefined;
  let store: S3ArtifactStore | undefined;
  beforeAll(async () => {
    s3 = await startS3OnMoto();
    store = new S3ArtifactStore({ client: s3.client, buckets: s3.buckets });
  });
  afterAll(async () => {
    await s3?.stop();
  });
  // moto checks no signatures: what S3 is asked to check is in the adapter's own tests.
  describeArtifactStore(() => {
    if (store === undefined) throw new Error('the emulator did not start');
    return { store, pass: async () => undefined };
  }, true);
});
