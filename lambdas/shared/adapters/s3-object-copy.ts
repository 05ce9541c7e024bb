import { CopyObjectCommand } from '@aws-sdk/client-s3';

import type { ObjectInfo } from '#ports/artifact-store';

import { callS3, wholeSha256, type S3Bucket } from './s3-bucket.ts';
import { absent } from './s3-errors.ts';
import { describeObject, mustHead, onOneVersion } from './s3-object-read.ts';

/** Copies within S3, which counts and keeps the hash of what it copies. @throws ObjectNotFoundError */
export async function copyContent(from: S3Bucket, fromKey: string, to: S3Bucket, toKey: string): Promise<ObjectInfo> {
  const found = await onOneVersion(from, fromKey, async () => {
    const head = await mustHead(from, fromKey);
    // S3 refuses a copy onto itself; it would change nothing.
    if (from.name === to.name && fromKey === toKey) return { ...head, copied: null };
    return { ...head, copied: await copyInto({ from, fromKey, to, toKey, etag: head.etag }) };
  });
  const sha256 = found.sha256 ?? found.copied ?? (await describeObject(to, toKey))?.sha256;
  if (sha256 === undefined) throw absent({ bucket: to.bucket, key: toKey });
  return { key: toKey, sizeBytes: found.sizeBytes, sha256 };
}

export interface CopyTerms {
  readonly from: S3Bucket;
  readonly fromKey: string;
  readonly to: S3Bucket;
  readonly toKey: string;
  /** Of the one version that may be copied. */
  readonly etag?: string;
}

/** One copy, without a look at what is copied; gives its hash where S3 told it. @throws ObjectNotFoundError */
export async function copyInto({ from, fromKey, to, toKey, etag }: CopyTerms): Promise<string | null> {
  const command = new CopyObjectCommand({
    Bucket: to.name,
    Key: toKey,
    CopySource: `${from.name}/${fromKey.split('/').map(encodeURIComponent).join('/')}`,
    CopySourceIfMatch: etag,
    MetadataDirective: 'COPY',
    // Tags stay behind: to read them would take one more right.
    TaggingDirective: 'REPLACE',
    ChecksumAlgorithm: 'SHA256',
  });
  const { CopyObjectResult: copied } = await callS3(from, fromKey, (client) => client.send(command));
  return wholeSha256(copied?.ChecksumSHA256);
}
