import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';

import { GetObjectCommand } from '@aws-sdk/client-s3';

import { clampRange, type ByteRange } from '#core/object-rules';
import { storageError } from '#core/storage-error';
import type { ObjectInfo, ObjectRef } from '#ports/artifact-store';

import { repeatWhileTransient } from './retry-policy.ts';
import { callS3, headObject, told, type S3Bucket, type S3Head } from './s3-bucket.ts';
import { absent, isPreconditionFailed, isS3ErrorNamed, mismatch, unavailable } from './s3-errors.ts';

/** Reads an object, or a range of it, into memory. */
export async function readObject(place: S3Bucket, key: string, range?: ByteRange): Promise<Uint8Array> {
  // What is no range at all is refused before S3, which would ignore it and send everything.
  if (range !== undefined) clampRange(key, range, Number.MAX_SAFE_INTEGER);
  const asked = range === undefined ? {} : { Range: `bytes=${String(range.start)}-${String(range.end)}` };
  try {
    return await callS3(place, key, async (client) => {
      const { Body: body } = await client.send(new GetObjectCommand({ Bucket: place.name, Key: key, ...asked }));
      return await told(place, key, 'Body', body).transformToByteArray();
    });
  } catch (error) {
    if (range === undefined || !isS3ErrorNamed(error, 'InvalidRange')) throw error;
    clampRange(key, range, (await mustHead(place, key)).sizeBytes);
    throw unavailable({ bucket: place.bucket, key }, 1, error);
  }
}

/**
 * What is known of an object. Of one that nobody has kept a hash of (posted by a form without one) all of the content is
 * read to tell it.
 */
export async function describeObject(place: S3Bucket, key: string): Promise<ObjectInfo | undefined> {
  return await onOneVersion(place, key, async () => {
    const head = await headObject(place, key);
    if (head === undefined) return undefined;
    const sha256 = head.sha256 ?? (await hashContent(place, key, head));
    return { key, sizeBytes: head.sizeBytes, sha256 };
  });
}

/** Streams an object into a file that is there whole or not at all, and checks its hash where one was kept. */
export async function readIntoFile(place: S3Bucket, key: string, target: string): Promise<ObjectInfo> {
  return await onOneVersion(place, key, async () => {
    const head = await mustHead(place, key);
    const partial = path.join(path.dirname(target), `.${randomUUID()}.partial`);
    try {
      await mkdir(path.dirname(target), { recursive: true });
      const found = await callS3(place, key, async () => await copyToFile(place, key, head, partial));
      if (head.sha256 !== null && found !== head.sha256) {
        throw mismatch({ bucket: place.bucket, key }, head.sha256, found);
      }
      await rename(partial, target);
      return { key, sizeBytes: head.sizeBytes, sha256: found };
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw isOfDisk(error) ? storageError(error, target) : error;
    }
  });
}

async function copyToFile(place: S3Bucket, key: string, head: S3Head, partial: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(partial, 'w');
  try {
    for await (const chunk of await openContent(place, key, head)) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

async function hashContent(place: S3Bucket, key: string, head: S3Head): Promise<string> {
  return await callS3(place, key, async () => {
    const hash = createHash('sha256');
    for await (const chunk of await openContent(place, key, head)) hash.update(chunk);
    return hash.digest('hex');
  });
}

/** The content of exactly that version. */
async function openContent(place: S3Bucket, key: string, head: S3Head): Promise<AsyncIterable<Uint8Array>> {
  const command = new GetObjectCommand({ Bucket: place.name, Key: key, IfMatch: head.etag });
  const { Body: body } = await place.client.send(command);
  return body instanceof Readable ? body : Readable.fromWeb(told(place, key, 'Body', body).transformToWebStream());
}

/** Begins again when the object was replaced between two requests. */
export async function onOneVersion<T>(place: S3Bucket, key: string, action: () => Promise<T>): Promise<T> {
  const ref: ObjectRef = { bucket: place.bucket, key };
  const giveUp = (tries: number, error: unknown): Error => unavailable(ref, tries, error);
  return await repeatWhileTransient(place.policy, { isTransient: isPreconditionFailed, giveUp }, action);
}

/** @throws ObjectNotFoundError */
export async function mustHead(place: S3Bucket, key: string): Promise<S3Head> {
  const head = await headObject(place, key);
  if (head === undefined) throw absent({ bucket: place.bucket, key });
  return head;
}

/** The file system says what it was doing; the network does not. */
function isOfDisk(error: unknown): boolean {
  if (!(error instanceof Error) || !('syscall' in error)) return false;
  return ['open', 'write', 'close', 'rename', 'mkdir'].includes(String(error.syscall));
}
