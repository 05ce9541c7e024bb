import { HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';

import { ExamHallError } from '#core/errors';
import type { Bucket, ObjectRef } from '#ports/artifact-store';

import { repeatWhileTransient, type RetryPolicy } from './retry-policy.ts';
import { isAbsent, isTransientS3Error, translateS3Error, unavailable } from './s3-errors.ts';

/** One bucket under the name that the pipeline knows it by. */
export interface S3Bucket {
  readonly client: S3Client;
  readonly bucket: Bucket;
  /** S3's name of it. */
  readonly name: string;
  readonly policy: RetryPolicy;
}

/** Our metadata: the hash of the content, and which write it was. */
export const METADATA = { sha256: 'sha256', writeId: 'write-id' } as const;

/** What S3 tells of an object. */
export interface S3Head {
  readonly etag: string;
  readonly sizeBytes: number;
  /** Null when neither S3 nor the writer has kept one of the whole content. */
  readonly sha256: string | null;
  readonly writeId: string | null;
}

/** Asks until S3 answers for good. @throws StoreUnavailableError; S3's own errors by our names where there are some. */
export async function callS3<T>(place: S3Bucket, key: string, action: (client: S3Client) => Promise<T>): Promise<T> {
  const ref: ObjectRef = { bucket: place.bucket, key };
  const rules = {
    isTransient: isTransientS3Error,
    giveUp: (tries: number, error: unknown): Error => unavailable(ref, tries, error),
  };
  try {
    return await repeatWhileTransient(place.policy, rules, () => action(place.client));
  } catch (error) {
    throw translateS3Error(error, ref);
  }
}

export async function headObject(place: S3Bucket, key: string): Promise<S3Head | undefined> {
  const command = new HeadObjectCommand({ Bucket: place.name, Key: key, ChecksumMode: 'ENABLED' });
  const answer = await callS3(place, key, async (client) => {
    try {
      return await client.send(command);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  });
  if (answer === undefined) return undefined;
  const etag = told(place, key, 'ETag', answer.ETag);
  // S3's checksum of an object that came in parts is one over their checksums.
  const checksum = /-\d+"$/u.test(etag) ? null : wholeSha256(answer.ChecksumSHA256);
  return {
    etag,
    sizeBytes: told(place, key, 'ContentLength', answer.ContentLength),
    sha256: answer.Metadata?.[METADATA.sha256] ?? checksum,
    writeId: answer.Metadata?.[METADATA.writeId] ?? null,
  };
}

/** Hex of a checksum; null without one, and for one over the checksums of parts, which S3 writes as `<base64>-<parts>`. */
export function wholeSha256(checksum: string | undefined): string | null {
  if (checksum === undefined || !/^[A-Za-z0-9+/]{43}=$/u.test(checksum)) return null;
  return Buffer.from(checksum, 'base64').toString('hex');
}

/** A part of an answer that S3 always gives. @throws StoreUnavailableError where it did not. */
export function told<T>(place: S3Bucket, key: string, name: string, value: T | undefined): T {
  if (value !== undefined) return value;
  const message = `S3 answered for ${JSON.stringify(key)} of bucket ${place.bucket} without ${name}`;
  throw new ExamHallError('StoreUnavailableError', message, { bucket: place.bucket, key });
}
