import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

import { DeleteObjectCommand, type S3Client } from '@aws-sdk/client-s3';

import type { UploadGrant } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { checkObjectKey, checkObjectSize, listingCursor, prepareListing, type ByteRange } from '#core/object-rules';
import type {
  ArtifactStore,
  Bucket,
  ObjectInfo,
  ObjectPage,
  ObjectRef,
  PutOptions,
  UploadLimit,
} from '#ports/artifact-store';

import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './retry-policy.ts';
import { callS3, headObject, type S3Bucket } from './s3-bucket.ts';
import { exists, mismatch } from './s3-errors.ts';
import { uploadInParts } from './s3-multipart-upload.ts';
import { copyContent } from './s3-object-copy.ts';
import { listPage } from './s3-object-list.ts';
import { describeObject, readIntoFile, readObject } from './s3-object-read.ts';
import { onlyOnce, writeContent, writeTerms } from './s3-object-write.ts';
import { signObjectForm, signObjectUrl } from './s3-signatures.ts';

/** Files above this size go up in parts of it. */
const PART_BYTES = 16 * 1_024 * 1_024;

export interface S3ArtifactStoreOptions {
  readonly client: S3Client;
  /** S3's names of the buckets; one that is not named cannot be used. */
  readonly buckets: Readonly<Partial<Record<Bucket, string>>>;
  readonly policy?: RetryPolicy;
  /** At least 5 MiB, S3's own bound; 16 MiB unless told. */
  readonly partBytes?: number;
}

/** Objects in S3. The hash of each is kept with it, and S3 checks content against it on the way in. */
export class S3ArtifactStore implements ArtifactStore {
  readonly #options: S3ArtifactStoreOptions;

  constructor(options: S3ArtifactStoreOptions) {
    this.#options = options;
  }

  async put(ref: ObjectRef, body: Uint8Array | string, options: PutOptions = {}): Promise<ObjectInfo> {
    const content = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
    return await writeContent(this.#place(ref), ref.key, content, options);
  }

  async putFile(ref: ObjectRef, path: string, options: PutOptions = {}): Promise<ObjectInfo> {
    const place = this.#place(ref);
    const partBytes = this.#options.partBytes ?? PART_BYTES;
    const file = await openLocal(path);
    try {
      const { size: sizeBytes } = await readingLocal(path, () => file.stat());
      checkObjectSize(ref.key, sizeBytes);
      if (sizeBytes <= partBytes) {
        return await writeContent(place, ref.key, await readingLocal(path, () => file.readFile()), options);
      }
      const sha256 = await readingLocal(path, () => hashFile(file));
      if (options.sha256 !== undefined && options.sha256 !== sha256) throw mismatch(ref, options.sha256, sha256);
      // Before gigabytes go up for nothing; the upload's own condition decides.
      if (options.ifAbsent === true && (await headObject(place, ref.key)) !== undefined) throw exists(ref);
      const terms = writeTerms(sha256, options);
      const source = { file, path, sizeBytes, partBytes };
      await onlyOnce(place, ref.key, terms, () => uploadInParts(place, ref.key, source, terms));
      return { key: ref.key, sizeBytes, sha256 };
    } finally {
      await file.close();
    }
  }

  async get(ref: ObjectRef, range?: ByteRange): Promise<Uint8Array> {
    return await readObject(this.#place(ref), ref.key, range);
  }

  async getFile(ref: ObjectRef, path: string): Promise<ObjectInfo> {
    return await readIntoFile(this.#place(ref), ref.key, path);
  }

  async head(ref: ObjectRef): Promise<ObjectInfo | undefined> {
    return await describeObject(this.#place(ref), ref.key);
  }

  async list(
    bucket: Bucket,
    prefix: string,
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<ObjectPage> {
    const asked = prepareListing(bucket, prefix, page);
    const { objects, nextToken } = await listPage(this.#bucket(bucket), asked);
    const last = objects.at(-1);
    return nextToken === undefined || last === undefined
      ? { objects }
      : { objects, cursor: listingCursor(bucket, prefix, last.key) };
  }

  async copy(from: ObjectRef, to: ObjectRef): Promise<ObjectInfo> {
    return await copyContent(this.#place(from), from.key, this.#place(to), to.key);
  }

  async remove(ref: ObjectRef): Promise<void> {
    const place = this.#place(ref);
    const command = new DeleteObjectCommand({ Bucket: place.name, Key: ref.key });
    await callS3(place, ref.key, (client) => client.send(command));
  }

  async signGet(ref: ObjectRef, expiresInSeconds: number): Promise<string> {
    return await signObjectUrl(this.#place(ref), ref.key, expiresInSeconds);
  }

  async signUpload(
    bucket: Bucket,
    keyPrefix: string,
    expiresInSeconds: number,
    limit: UploadLimit,
  ): Promise<UploadGrant> {
    return await signObjectForm(this.#bucket(bucket), { keyPrefix, expiresInSeconds, limit });
  }

  #place(ref: ObjectRef): S3Bucket {
    checkObjectKey(ref.key);
    return this.#bucket(ref.bucket);
  }

  #bucket(bucket: Bucket): S3Bucket {
    const { client, buckets, policy = DEFAULT_RETRY_POLICY } = this.#options;
    const name = buckets[bucket];
    if (name !== undefined) return { client, bucket, name, policy };
    const known = Object.keys(buckets).join(', ') || 'none';
    const message = `bucket ${bucket} is not known here; the buckets named to this function are: ${known}`;
    throw new ExamHallError('EnvironmentInvalidError', message, { bucket });
  }
}

async function openLocal(path: string): Promise<FileHandle> {
  return await readingLocal(path, () => open(path, 'r'));
}

async function readingLocal<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const seen = error instanceof Error ? error.message : String(error);
    throw new ExamHallError('PayloadInvalidError', `cannot read the file to store: ${seen}`, { path }, error);
  }
}

async function hashFile(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const content = file.createReadStream({ start: 0, autoClose: false, highWaterMark: 1_024 * 1_024 });
  for await (const chunk of content) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}
