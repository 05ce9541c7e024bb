import type { DeploymentOutputs } from '#contracts/deployment-outputs';
import { clientOptions, type AwsSession } from './aws-session.ts';
import { checked, fail, pass, unverified, type DeployCheck } from './deploy-check.ts';

/** The key of each bucket: without it nothing in the bucket can be read again. */
export async function keyChecks(
  buckets: DeploymentOutputs['buckets'],
  session: AwsSession,
): Promise<readonly DeployCheck[]> {
  return await Promise.all(
    Object.entries(buckets).map(async ([name, bucket]) => await keyCheck(name, bucket, session)),
  );
}

async function keyCheck(name: string, bucket: string, session: AwsSession): Promise<DeployCheck> {
  const right = `s3:GetEncryptionConfiguration on ${bucket} and kms:DescribeKey on its key`;
  return await checked(`key ${name}`, right, async () => {
    const keyId = await keyOf(bucket, session);
    if (keyId === null) return unverified(`${bucket} names no key`, `see bucket ${name}`);
    const { DescribeKeyCommand, KMSClient } = await import('@aws-sdk/client-kms');
    const client = new KMSClient(clientOptions(session));
    try {
      const { KeyMetadata } = await client.send(new DescribeKeyCommand({ KeyId: keyId }));
      return stateOf(keyId, KeyMetadata?.KeyState ?? 'unknown');
    } catch (error) {
      if (error instanceof Error && error.name === 'NotFoundException')
        return fail(`there is no key ${keyId}; nothing in ${bucket} can be read`, `name another key for ${bucket}`);
      throw error;
    } finally {
      client.destroy();
    }
  });
}

async function keyOf(bucket: string, session: AwsSession): Promise<string | null> {
  const { GetBucketEncryptionCommand, S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client(clientOptions(session));
  try {
    const { ServerSideEncryptionConfiguration } = await client.send(new GetBucketEncryptionCommand({ Bucket: bucket }));
    return ServerSideEncryptionConfiguration?.Rules?.[0]?.ApplyServerSideEncryptionByDefault?.KMSMasterKeyID ?? null;
  } finally {
    client.destroy();
  }
}

function stateOf(keyId: string, state: string): Omit<DeployCheck, 'name'> {
  if (state === 'Enabled') return pass(`${keyId} is enabled`);
  const enable = `aws kms enable-key --key-id ${keyId}`;
  if (state === 'Disabled') return fail(`${keyId} is disabled`, enable);
  if (state === 'PendingDeletion' || state === 'PendingReplicaDeletion')
    return fail(
      `${keyId} is to be deleted, and all it encrypts with it`,
      `aws kms cancel-key-deletion --key-id ${keyId} && ${enable}`,
    );
  return fail(`${keyId} is ${state}, not Enabled`, 'see the key in the console of KMS');
}
