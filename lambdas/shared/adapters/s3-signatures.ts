import { GetObjectCommand } from '@aws-sdk/client-s3';
import { createPresignedPost } from '@aws-sdk/s3-presigned-post';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';

import type { UploadGrant } from '#contracts/guest';
import { checkExpiry, checkUploadTerms } from '#core/object-rules';
import type { UploadLimit } from '#ports/artifact-store';

import type { S3Bucket } from './s3-bucket.ts';

/**
 * A URL for GET. It ends with the credentials it was signed with: a role's session of some hours outlives no seven days,
 * so sign when the URL is needed.
 */
export async function signObjectUrl(place: S3Bucket, key: string, expiresInSeconds: number): Promise<string> {
  checkExpiry(expiresInSeconds);
  const command = new GetObjectCommand({ Bucket: place.name, Key: key });
  return await getSignedUrl(place.client, command, { expiresIn: expiresInSeconds });
}

/** What a form may store. */
export interface FormTerms {
  readonly keyPrefix: string;
  readonly expiresInSeconds: number;
  readonly limit: UploadLimit;
}

/** A form for POST under a prefix, or of one content to the one key; S3 refuses any field that its policy does not name, and any that is missing. */
export async function signObjectForm(place: S3Bucket, terms: FormTerms): Promise<UploadGrant> {
  const { keyPrefix, expiresInSeconds } = terms;
  const { maxBytes, sha256 } = checkUploadTerms(keyPrefix, expiresInSeconds, terms.limit);
  const checksum: Record<string, string> =
    sha256 === undefined ? {} : { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') };
  const { url, fields } = await createPresignedPost(place.client, {
    Bucket: place.name,
    // What ends so is signed as a prefix, anything else as the only key.
    Key: sha256 === undefined ? `${keyPrefix}\${filename}` : keyPrefix,
    Expires: expiresInSeconds,
    Fields: checksum,
    Conditions: [['content-length-range', 0, maxBytes]],
  });
  // Whoever posts names the key.
  return { url, fields: Object.fromEntries(Object.entries(fields).filter(([name]) => name !== 'key')), keyPrefix };
}
