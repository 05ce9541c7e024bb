import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
  type CompletedPart,
} from '@aws-sdk/client-s3';

import { ExamHallError } from '#core/errors';

import { repeatWhileTransient } from './retry-policy.ts';
import { callS3, headObject, told, type S3Bucket } from './s3-bucket.ts';
import { isS3ErrorNamed, isTransientS3Error, translateS3Error, unavailable } from './s3-errors.ts';
import { metadataOf, type WriteTerms } from './s3-object-write.ts';

/** Parts under way at once; each is held in memory. */
const PARTS_AT_ONCE = 3;

export interface MultipartSource {
  readonly file: FileHandle;
  readonly path: string;
  readonly sizeBytes: number;
  /** S3 takes 5 MiB or more of every part but the last, and 10,000 parts. */
  readonly partBytes: number;
}

/**
 * Uploads a file in parts that S3 checks one by one; the hash of the whole is kept as metadata, because S3's own of such
 * an object is one over its parts. What fails half-way is aborted, so that no parts stay to be paid for.
 * @throws ChecksumMismatchError when the file is not what it was when its hash was taken.
 */
export async function uploadInParts(
  place: S3Bucket,
  key: string,
  source: MultipartSource,
  terms: WriteTerms,
): Promise<void> {
  // S3's conflict between two conditional completions ends the upload: it has to be made again with all its parts.
  const rules = {
    isTransient: (error: unknown): boolean => isS3ErrorNamed(error, 'ConditionalRequestConflict'),
    giveUp: (tries: number, error: unknown): Error => unavailable({ bucket: place.bucket, key }, tries, error),
  };
  await repeatWhileTransient(place.policy, rules, () => uploadOnce(place, key, source, terms));
}

/** One multipart upload that S3 has begun. */
interface Upload {
  readonly place: S3Bucket;
  readonly key: string;
  readonly uploadId: string;
  readonly terms: WriteTerms;
}

async function uploadOnce(place: S3Bucket, key: string, source: MultipartSource, terms: WriteTerms): Promise<void> {
  const create = new CreateMultipartUploadCommand({
    Bucket: place.name,
    Key: key,
    ContentType: terms.contentType,
    ChecksumAlgorithm: 'SHA256',
    Metadata: metadataOf(terms),
  });
  const made = await callS3(place, key, (client) => client.send(create));
  const uploadId = told(place, key, 'UploadId', made.UploadId);
  const upload = { place, key, uploadId, terms };
  try {
    await complete(upload, await sendParts(upload, source));
  } catch (error) {
    const abort = new AbortMultipartUploadCommand({ Bucket: place.name, Key: key, UploadId: uploadId });
    // The bucket's lifecycle rule removes what even this leaves.
    await callS3(place, key, (client) => client.send(abort)).catch(() => undefined);
    throw error;
  }
}

async function sendParts(upload: Upload, source: MultipartSource): Promise<readonly CompletedPart[]> {
  const parts: CompletedPart[] = [];
  const whole = createHash('sha256');
  const count = Math.ceil(source.sizeBytes / source.partBytes);
  let next = 0;
  let reading: Promise<unknown> = Promise.resolve();
  const lane = async (): Promise<void> => {
    while (next < count) {
      const at = next;
      next += 1;
      // One after the other, because the hash of the whole takes its parts in order.
      const content = reading.then(() => readPart(source, at, whole));
      reading = content;
      parts[at] = await sendPart(upload, at + 1, await content);
    }
  };
  const lanes = Array.from({ length: PARTS_AT_ONCE }, lane);
  try {
    await Promise.all(lanes);
  } catch (error) {
    next = count;
    // No part may arrive behind the abort.
    await Promise.allSettled(lanes);
    throw error;
  }
  if (whole.digest('hex') !== upload.terms.sha256) throw changed(source);
  return parts;
}

async function readPart(source: MultipartSource, at: number, whole: Hash): Promise<Buffer> {
  const start = at * source.partBytes;
  const content = Buffer.allocUnsafe(Math.min(source.partBytes, source.sizeBytes - start));
  for (let filled = 0; filled < content.length;) {
    const { bytesRead } = await source.file.read(content, filled, content.length - filled, start + filled);
    if (bytesRead === 0) throw changed(source);
    filled += bytesRead;
  }
  whole.update(content);
  return content;
}

async function sendPart({ place, key, uploadId }: Upload, number: number, content: Buffer): Promise<CompletedPart> {
  const checksum = createHash('sha256').update(content).digest('base64');
  const command = new UploadPartCommand({
    Bucket: place.name,
    Key: key,
    UploadId: uploadId,
    PartNumber: number,
    Body: content,
    ContentLength: content.length,
    ChecksumSHA256: checksum,
  });
  const answer = await callS3(place, key, (client) => client.send(command));
  return { PartNumber: number, ETag: told(place, key, 'ETag', answer.ETag), ChecksumSHA256: checksum };
}

async function complete({ place, key, uploadId, terms }: Upload, parts: readonly CompletedPart[]): Promise<void> {
  const command = new CompleteMultipartUploadCommand({
    Bucket: place.name,
    Key: key,
    UploadId: uploadId,
    MultipartUpload: { Parts: [...parts] },
    ...terms.condition,
  });
  const rules = {
    isTransient: (error: unknown): boolean =>
      isTransientS3Error(error) && !isS3ErrorNamed(error, 'ConditionalRequestConflict'),
    giveUp: (tries: number, error: unknown): Error => unavailable({ bucket: place.bucket, key }, tries, error),
  };
  try {
    await repeatWhileTransient(place.policy, rules, () => place.client.send(command));
  } catch (error) {
    // An upload that is gone was completed by a request whose answer was lost, or aborted by somebody else.
    const isGone = isS3ErrorNamed(error, 'NoSuchUpload');
    if (isGone && (await headObject(place, key))?.writeId === terms.writeId) return;
    throw translateS3Error(error, { bucket: place.bucket, key });
  }
}

function changed({ path }: MultipartSource): ExamHallError {
  return new ExamHallError('ChecksumMismatchError', `${path} was changed while it was uploaded`, { path });
}
