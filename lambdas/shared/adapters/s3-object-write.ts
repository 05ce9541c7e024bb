import { createHash, randomUUID } from 'node:crypto';

import { PutObjectCommand } from '@aws-sdk/client-s3';

import { checkObjectSize } from '#core/object-rules';
import type { ObjectInfo, PutOptions } from '#ports/artifact-store';

import { callS3, headObject, METADATA, type S3Bucket } from './s3-bucket.ts';
import { exists, isForbidden, isPreconditionFailed, mismatch } from './s3-errors.ts';

/** What every write of a whole object tells S3 about it. */
export interface WriteTerms {
  readonly sha256: string;
  readonly writeId: string;
  readonly contentType: string;
  /** Only where nothing is, or only over that version. */
  readonly condition: { readonly IfNoneMatch?: '*'; readonly IfMatch?: string };
}

export function writeTerms(sha256: string, options: PutOptions): WriteTerms {
  return {
    sha256,
    writeId: randomUUID(),
    contentType: options.contentType ?? 'application/octet-stream',
    condition: options.ifAbsent === true ? { IfNoneMatch: '*' } : {},
  };
}

/** Writes content in one request, which S3 checks against its hash. */
export async function writeContent(
  place: S3Bucket,
  key: string,
  content: Uint8Array,
  options: PutOptions,
): Promise<ObjectInfo> {
  checkObjectSize(key, content.byteLength);
  const sha256 = createHash('sha256').update(content).digest('hex');
  if (options.sha256 !== undefined && options.sha256 !== sha256) {
    throw mismatch({ bucket: place.bucket, key }, options.sha256, sha256);
  }
  const terms = writeTerms(sha256, options);
  await onlyOnce(place, key, terms, () => putContent(place, key, content, terms));
  return { key, sizeBytes: content.byteLength, sha256 };
}

/** One PutObject, repeated while S3 is in trouble. @throws S3's PreconditionFailed as it came. */
export async function putContent(place: S3Bucket, key: string, content: Uint8Array, terms: WriteTerms): Promise<void> {
  const command = new PutObjectCommand({
    Bucket: place.name,
    Key: key,
    Body: content,
    ContentLength: content.byteLength,
    ContentType: terms.contentType,
    ChecksumSHA256: Buffer.from(terms.sha256, 'hex').toString('base64'),
    Metadata: metadataOf(terms),
    ...terms.condition,
  });
  await callS3(place, key, (client) => client.send(command));
}

export function metadataOf(terms: WriteTerms): Record<string, string> {
  return { [METADATA.sha256]: terms.sha256, [METADATA.writeId]: terms.writeId };
}

/**
 * A condition may fail on our own write, when an earlier request did its work and its answer was lost: then it is done.
 * @throws ObjectExistsError when the object is another's.
 */
export async function onlyOnce(
  place: S3Bucket,
  key: string,
  terms: WriteTerms,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isPreconditionFailed(error)) throw error;
    if ((await writerOf(place, key)) !== terms.writeId) throw exists({ bucket: place.bucket, key });
  }
}

/** Null where it cannot be told, also for want of the right to read. */
async function writerOf(place: S3Bucket, key: string): Promise<string | null> {
  try {
    return (await headObject(place, key))?.writeId ?? null;
  } catch (error) {
    if (isForbidden(error)) return null;
    throw error;
  }
}
