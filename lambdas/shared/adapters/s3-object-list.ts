import { ListObjectsV2Command } from '@aws-sdk/client-s3';

import { OBJECT_LIMITS } from '#core/object-rules';
import type { ListedObject } from '#ports/artifact-store';

import { callS3, told, type S3Bucket } from './s3-bucket.ts';

export interface ListedPage {
  readonly objects: readonly ListedObject[];
  /** Prefixes up to the next delimiter, where one was given. */
  readonly folders: readonly string[];
  /** What the next page is asked with; absent on the last one. */
  readonly nextToken?: string;
}

/** One page of a listing, in the order of the keys' UTF-8 bytes. */
export async function listPage(
  place: S3Bucket,
  asked: {
    readonly prefix: string;
    readonly limit: number;
    readonly after?: string | null;
    readonly token?: string | undefined;
    readonly delimiter?: string | undefined;
  },
): Promise<ListedPage> {
  const { prefix, limit, after, token, delimiter } = asked;
  const command = new ListObjectsV2Command({
    Bucket: place.name,
    Prefix: prefix,
    MaxKeys: limit,
    // Keys may hold what XML cannot.
    EncodingType: 'url',
    StartAfter: after ?? undefined,
    ContinuationToken: token,
    Delimiter: delimiter,
  });
  const answer = await callS3(place, prefix, (client) => client.send(command));
  return {
    objects: (answer.Contents ?? []).map(({ Key: key, Size: size }) => ({
      key: decodeKey(told(place, prefix, 'Key', key)),
      sizeBytes: told(place, prefix, 'Size', size),
    })),
    folders: (answer.CommonPrefixes ?? []).map((found) => decodeKey(told(place, prefix, 'Prefix', found.Prefix))),
    ...(answer.NextContinuationToken === undefined ? {} : { nextToken: answer.NextContinuationToken }),
  };
}

/** Every object below a prefix, and with a delimiter the folders right below it. */
export async function listAll(
  place: S3Bucket,
  prefix: string,
  delimiter?: string,
): Promise<Omit<ListedPage, 'nextToken'>> {
  const objects: ListedObject[] = [];
  const folders: string[] = [];
  let token: string | undefined;
  do {
    const page: ListedPage = await listPage(place, { prefix, limit: OBJECT_LIMITS.pageObjects, token, delimiter });
    objects.push(...page.objects);
    folders.push(...page.folders);
    token = page.nextToken;
  } while (token !== undefined);
  return { objects, folders };
}

/** As S3 encodes keys in listings: like a form, with `+` for a space. */
function decodeKey(encoded: string): string {
  return decodeURIComponent(encoded.replaceAll('+', '%20'));
}
