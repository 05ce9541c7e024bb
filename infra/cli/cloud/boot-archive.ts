import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Archive } from '#core/image-adoption-scripts';
import { clientOptions, type AwsSession } from '#cli/remote/aws-session';

const LINK_SECONDS = 3600;

/** Puts the boot archive of this version where machines of the stage fetch it, and signs a link to it. */
export async function publishBootArchive(tasksBucket: string, session: AwsSession): Promise<Archive> {
  const { bootFiles, packBootArchive } = await import('../../bundler-boot-files.ts');
  const { S3ArtifactStore } = await import('#adapters/s3-artifact-store');
  const { createS3Client } = await import('#adapters/s3-client');
  const cacheDir = await mkdtemp(path.join(os.tmpdir(), 'examhall-boot-'));
  const client = createS3Client(clientOptions(session));
  try {
    const archive = packBootArchive(await bootFiles(cacheDir));
    const sha256 = createHash('sha256').update(archive).digest('hex');
    const ref = { bucket: 'tasks', key: `boot/${sha256}/boot.tar.gz` } as const;
    const store = new S3ArtifactStore({ client, buckets: { tasks: tasksBucket } });
    await store.put(ref, archive);
    return { url: await store.signGet(ref, LINK_SECONDS), sha256 };
  } finally {
    client.destroy();
    await rm(cacheDir, { recursive: true, force: true });
  }
}
