import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';

import type { UploadGrant } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { checkObjectKey, clampRange, listingCursor, prepareListing, type ByteRange } from '#core/object-rules';
import { compareUtf8 } from '#core/utf8';
import type { ObjectSource, OpenObject } from '#local/stores/object-source';
import { RequestSigner } from '#local/stores/request-signer';
import type {
  ArtifactStore,
  Bucket,
  ObjectInfo,
  ObjectPage,
  ObjectRef,
  PutOptions,
  UploadLimit,
} from '#ports/artifact-store';

export interface ArtifactStoreCall {
  readonly operation: keyof ArtifactStore;
  readonly ref: ObjectRef;
}

interface StoredObject {
  readonly content: Buffer;
  readonly contentType: string;
  readonly info: ObjectInfo;
}

/**
 * An artefact store in memory. Keeps every call in `calls` (for `list` and `signUpload` the prefix is the key);
 * `failNext` makes coming calls fail before they do anything. Its URLs answer only when an object server has it as source.
 */
export class InMemoryArtifactStore implements ArtifactStore, ObjectSource {
  readonly calls: ArtifactStoreCall[] = [];
  readonly #objects = new Map<Bucket, Map<string, StoredObject>>();
  readonly #signer: RequestSigner;
  #failures: { left: number; readonly error: Error } | undefined;

  constructor(signer: RequestSigner = new RequestSigner(() => 'http://artifacts.invalid', Date.now)) {
    this.#signer = signer;
  }

  /** The next `count` calls reject with this error. */
  failNext(count: number, error: Error): void {
    this.#failures = { left: count, error };
  }

  async put(ref: ObjectRef, body: Uint8Array | string, options: PutOptions = {}): Promise<ObjectInfo> {
    this.#begin('put', ref);
    return this.#store(ref, typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(body), options);
  }

  async putFile(ref: ObjectRef, path: string, options: PutOptions = {}): Promise<ObjectInfo> {
    this.#begin('putFile', ref);
    const content = await readFile(path).catch((error: unknown) => {
      throw new ExamHallError(
        'PayloadInvalidError',
        `cannot read the file to store: ${String(error)}`,
        { path },
        error,
      );
    });
    return this.#store(ref, content, options);
  }

  async receive(
    ref: ObjectRef,
    content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<ObjectInfo> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    return this.#store(ref, Buffer.concat(chunks), options);
  }

  async open(ref: ObjectRef): Promise<OpenObject | undefined> {
    checkObjectKey(ref.key);
    const stored = this.#objects.get(ref.bucket)?.get(ref.key);
    if (stored === undefined) return undefined;
    const { content, contentType, info } = stored;
    const part = (range?: ByteRange) => (range === undefined ? content : content.subarray(range.start, range.end + 1));
    return {
      info,
      contentType,
      read: (range) => Readable.from([part(range)]),
      readSmall: part,
      close: async () => {},
    };
  }

  async get(ref: ObjectRef, range?: ByteRange): Promise<Uint8Array> {
    this.#begin('get', ref);
    const { content } = this.#mustHave(ref);
    if (range === undefined) return Buffer.from(content);
    const { start, end } = clampRange(ref.key, range, content.byteLength);
    return Buffer.from(content.subarray(start, end + 1));
  }

  async getFile(ref: ObjectRef, path: string): Promise<ObjectInfo> {
    this.#begin('getFile', ref);
    const { content, info } = this.#mustHave(ref);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    return info;
  }

  async head(ref: ObjectRef): Promise<ObjectInfo | undefined> {
    this.#begin('head', ref);
    return (await this.open(ref))?.info;
  }

  async list(bucket: Bucket, prefix: string, page: { cursor?: string; limit?: number } = {}): Promise<ObjectPage> {
    this.#begin('list', { bucket, key: prefix });
    const { after, limit } = prepareListing(bucket, prefix, page);
    const keys = [...(this.#objects.get(bucket)?.keys() ?? [])]
      .filter((key) => key.startsWith(prefix) && (after === null || compareUtf8(key, after) > 0))
      .sort(compareUtf8)
      .slice(0, limit);
    const objects = keys.map((key) => ({ key, sizeBytes: this.#mustHave({ bucket, key }).info.sizeBytes }));
    const last = objects.at(-1);
    if (last === undefined || objects.length < limit) return { objects };
    return { objects, cursor: listingCursor(bucket, prefix, last.key) };
  }

  async copy(from: ObjectRef, to: ObjectRef): Promise<ObjectInfo> {
    this.#begin('copy', from);
    const { content, contentType } = this.#mustHave(from);
    return this.#store(to, content, { contentType });
  }

  async remove(ref: ObjectRef): Promise<void> {
    this.#begin('remove', ref);
    checkObjectKey(ref.key);
    this.#objects.get(ref.bucket)?.delete(ref.key);
  }

  async signGet(ref: ObjectRef, expiresInSeconds: number): Promise<string> {
    this.#begin('signGet', ref);
    return this.#signer.signUrl('GET', ref, expiresInSeconds);
  }

  async signUpload(
    bucket: Bucket,
    keyPrefix: string,
    expiresInSeconds: number,
    limit: UploadLimit,
  ): Promise<UploadGrant> {
    this.#begin('signUpload', { bucket, key: keyPrefix });
    return this.#signer.signUpload(bucket, keyPrefix, expiresInSeconds, limit);
  }

  #begin(operation: keyof ArtifactStore, ref: ObjectRef): void {
    this.calls.push({ operation, ref });
    if (this.#failures === undefined || this.#failures.left < 1) return;
    this.#failures.left -= 1;
    throw this.#failures.error;
  }

  #mustHave(ref: ObjectRef): StoredObject {
    checkObjectKey(ref.key);
    const stored = this.#objects.get(ref.bucket)?.get(ref.key);
    if (stored !== undefined) return stored;
    throw new ExamHallError('ObjectNotFoundError', `there is no object ${JSON.stringify(ref.key)} in ${ref.bucket}`, {
      ...ref,
    });
  }

  #store(ref: ObjectRef, content: Buffer, options: PutOptions): ObjectInfo {
    checkObjectKey(ref.key);
    const { bucket, key } = ref;
    const sha256 = createHash('sha256').update(content).digest('hex');
    if (options.sha256 !== undefined && options.sha256 !== sha256) {
      const message = `the content of ${JSON.stringify(key)} has sha256 ${sha256}, and ${options.sha256} was announced`;
      throw new ExamHallError('ChecksumMismatchError', message, { key, wanted: options.sha256, found: sha256 });
    }
    const objects = this.#objects.get(bucket) ?? new Map<string, StoredObject>();
    if (options.ifAbsent === true && objects.has(key)) {
      throw new ExamHallError('ObjectExistsError', `the object ${JSON.stringify(key)} exists already`, { key });
    }
    const info = { key, sizeBytes: content.byteLength, sha256 };
    objects.set(key, { content, contentType: options.contentType ?? 'application/octet-stream', info });
    this.#objects.set(bucket, objects);
    return info;
  }
}
