import { CreateBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import { createS3Client } from '#adapters/s3-client';
import { startMotoServer } from './moto.ts';

export interface S3OnMoto {
  readonly client: S3Client;
  /** Empty buckets. */
  readonly buckets: { readonly artifacts: string; readonly tasks: string; readonly references: string };
  stop(): Promise<void>;
}

/** An S3 of its own for one suite. Needs tier `moto`. */
export async function startS3OnMoto(): Promise<S3OnMoto> {
  const server = await startMotoServer();
  const client = createS3Client({ ...server.clientConfig, forcePathStyle: true });
  const buckets = { artifacts: 'examhall-artifacts', tasks: 'examhall-tasks', references: 'examhall-references' };
  for (const Bucket of Object.values(buckets)) await client.send(new CreateBucketCommand({ Bucket }));
  return {
    client,
    buckets,
    stop: async () => {
      client.destroy();
      await server.stop();
    },
  };
}
