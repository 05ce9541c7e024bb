import { createHash } from 'node:crypto';

import { GetObjectCommand } from '@aws-sdk/client-s3';

import { repeatWhileTransient } from './retry-policy.ts';
import { callS3, told, type S3Bucket } from './s3-bucket.ts';
import { isAbsent, isPreconditionFailed, unavailable, wasRepeated } from './s3-errors.ts';
import { putContent, writeTerms } from './s3-object-write.ts';

/** An object as it was read; null before there is one. */
interface Seen {
  readonly etag: string | null;
  readonly content: Buffer;
}

/**
 * Adds a line to an object, which S3 cannot: all of it is read and written again, only over what was read, and once more
 * when another came between. So no line of two writers is lost; it is for objects of some kilobytes.
 */
export async function appendLine(place: S3Bucket, key: string, line: string): Promise<void> {
  const addition = Buffer.from(`${line}\n`, 'utf8');
  const giveUp = (tries: number, error: unknown): Error => unavailable({ bucket: place.bucket, key }, tries, error);
  let unsure: Seen | undefined;
  // Of many writers at once only one gets through each time.
  const patient = { ...place.policy, tries: place.policy.tries * 4 };
  await repeatWhileTransient(patient, { isTransient: isPreconditionFailed, giveUp }, async () => {
    const seen = await readSeen(place, key);
    // Our own request may have been the one that came between, with its answer lost.
    if (unsure !== undefined && isAddedTo(unsure.content, seen.content, addition)) return;
    const content = Buffer.concat([seen.content, addition]);
    const terms = {
      ...writeTerms(createHash('sha256').update(content).digest('hex'), {}),
      condition: seen.etag === null ? { IfNoneMatch: '*' as const } : { IfMatch: seen.etag },
    };
    const sending = { isRepeated: false };
    const sleep = async (milliseconds: number): Promise<void> => {
      sending.isRepeated = true;
      await place.policy.sleep(milliseconds);
    };
    try {
      await putContent({ ...place, policy: { ...place.policy, sleep } }, key, content, terms);
    } catch (error) {
      if (isPreconditionFailed(error) && (sending.isRepeated || wasRepeated(error))) unsure ??= seen;
      throw error;
    }
  });
}

async function readSeen(place: S3Bucket, key: string): Promise<Seen> {
  return await callS3(place, key, async (client) => {
    try {
      const answer = await client.send(new GetObjectCommand({ Bucket: place.name, Key: key }));
      const content = Buffer.from(await told(place, key, 'Body', answer.Body).transformToByteArray());
      return { etag: told(place, key, 'ETag', answer.ETag), content };
    } catch (error) {
      if (isAbsent(error)) return { etag: null, content: Buffer.alloc(0) };
      throw error;
    }
  });
}

/** Whether the line is among what was added to the older content. */
function isAddedTo(older: Buffer, newer: Buffer, addition: Buffer): boolean {
  const added = newer.subarray(older.length);
  for (let at = added.indexOf(addition); at !== -1; at = added.indexOf(addition, at + 1)) {
    if (at === 0 || added[at - 1] === 0x0a) return true;
  }
  return false;
}
