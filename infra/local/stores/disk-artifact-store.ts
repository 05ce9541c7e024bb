import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { UploadGrant } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { checkObjectKey, clampRange, listingCursor, prepareListing, type ByteRange } from '#core/object-rules';
import type {
  ArtifactStore,
  Bucket,
  ListedObject,
  ObjectInfo,
  ObjectPage,
  ObjectRef,
  PutOptions,
  UploadLimit,
} from '#ports/artifact-store';

import { mismatch, openObject, removeLeftovers, temporaryPath, writeObject } from './object-files.ts';
import { listObjects } from './object-listing.ts';
import { pathOfKey } from './object-paths.ts';
import type { ObjectPlace, ObjectSource, ObjectView, OpenObject } from './object-source.ts';
import type { RequestSigner } from './request-signer.ts';
import { storageError } from '#core/storage-error';
import { makeFolder } from './make-folder.ts';

/**
 * Objects as files: `<root>/objects/<bucket>/...` holds their content and nothing else, `sidecars` their hashes and
 * content types, `writing` what is not complete. A process killed at any moment leaves whole objects only.
 */
export class DiskArtifactStore implements ArtifactStore, ObjectSource {
  readonly #root: string;
  readonly #signer: RequestSigner;
  readonly #view: ObjectView;

  private constructor(root: string, signer: RequestSigner, view: ObjectView) {
    this.#root = root;
    this.#signer = signer;
    this.#view = view;
  }

  /**
   * Opens or makes a store and clears what killed writers have left. Objects of `view` can be read and signed, not listed.
   * @throws StorageReadOnlyError, StorageFullError
   */
  static async open(
    root: string,
    signer: RequestSigner,
    view: ObjectView = () => undefined,
  ): Promise<DiskArtifactStore> {
    try {
      makeFolder(join(root, 'writing'));
      await removeLeftovers(join(root, 'writing'));
    } catch (error) {
      throw storageError(error, root);
    }
    return new DiskArtifactStore(root, signer, view);
  }

  async put(ref: ObjectRef, body: Uint8Array | string, options: PutOptions = {}): Promise<ObjectInfo> {
    return this.#write(ref, [typeof body === 'string' ? Buffer.from(body, 'utf8') : body], options);
  }

  async putFile(ref: ObjectRef, path: string, options: PutOptions = {}): Promise<ObjectInfo> {
    return this.#write(ref, readLocal(path), options);
  }

  async receive(
    ref: ObjectRef,
    content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<ObjectInfo> {
    return this.#write(ref, content, options);
  }

  async open(ref: ObjectRef): Promise<OpenObject | undefined> {
    const shown = this.#view(ref);
    return shown === null ? undefined : openObject(shown ?? this.#place(ref));
  }

  async get(ref: ObjectRef, range?: ByteRange): Promise<Uint8Array> {
    const object = await this.#mustOpen(ref);
    const part = await closingOnError(object, async () => {
      return range === undefined ? undefined : clampRange(ref.key, range, object.info.sizeBytes);
    });
    const small = object.readSmall(part);
    if (small !== undefined) return small;
    const chunks: Uint8Array[] = [];
    for await (const chunk of object.read(part)) chunks.push(chunk as Uint8Array);
    return Buffer.concat(chunks);
  }

  async getFile(ref: ObjectRef, path: string): Promise<ObjectInfo> {
    const object = await this.#mustOpen(ref);
    const partial = temporaryPath(dirname(path));
    try {
      const handle = await closingOnError(object, async () => {
        makeFolder(dirname(path));
        return open(partial, 'wx');
      });
      const found = await copyHashing(object, handle);
      if (found !== object.info.sha256) throw mismatch(ref.key, object.info.sha256, found);
      await rename(partial, path);
      return object.info;
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw storageError(error, path);
    }
  }

  async head(ref: ObjectRef): Promise<ObjectInfo | undefined> {
    const object = await this.open(ref);
    await object?.close();
    return object?.info;
  }

  async list(bucket: Bucket, prefix: string, page: { cursor?: string; limit?: number } = {}): Promise<ObjectPage> {
    const asked = prepareListing(bucket, prefix, page);
    const objects: ListedObject[] = [];
    const folder = join(this.#root, 'objects', bucket);
    try {
      for await (const object of listObjects(folder, asked)) {
        objects.push(object);
        if (objects.length === asked.limit) return { objects, cursor: listingCursor(bucket, prefix, object.key) };
      }
    } catch (error) {
      throw storageError(error, folder);
    }
    return { objects };
  }

  async copy(from: ObjectRef, to: ObjectRef): Promise<ObjectInfo> {
    const object = await this.#mustOpen(from);
    const { sha256 } = object.info;
    const small = object.readSmall();
    return this.#write(to, small === undefined ? object.read() : [small], { contentType: object.contentType, sha256 });
  }

  async remove(ref: ObjectRef): Promise<void> {
    const place = this.#place(ref);
    try {
      await rm(place.dataPath, { force: true });
      await rm(place.sidecarPath, { force: true });
    } catch (error) {
      throw storageError(error, place.dataPath);
    }
  }

  async signGet(ref: ObjectRef, expiresInSeconds: number): Promise<string> {
    return this.#signer.signUrl('GET', ref, expiresInSeconds);
  }

  async signUpload(
    bucket: Bucket,
    keyPrefix: string,
    expiresInSeconds: number,
    limit: UploadLimit,
  ): Promise<UploadGrant> {
    return this.#signer.signUpload(bucket, keyPrefix, expiresInSeconds, limit);
  }

  async #write(
    ref: ObjectRef,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: PutOptions,
  ): Promise<ObjectInfo> {
    return writeObject(this.#place(ref), temporaryPath(join(this.#root, 'writing')), content, options);
  }

  async #mustOpen(ref: ObjectRef): Promise<OpenObject> {
    const object = await this.open(ref);
    if (object !== undefined) return object;
    const message = `there is no object ${JSON.stringify(ref.key)} in bucket ${ref.bucket}`;
    throw new ExamHallError('ObjectNotFoundError', message, { bucket: ref.bucket, key: ref.key });
  }

  #place(ref: ObjectRef): ObjectPlace {
    checkObjectKey(ref.key);
    const pieces = [ref.bucket, ...pathOfKey(ref.key)];
    return {
      key: ref.key,
      dataPath: join(this.#root, 'objects', ...pieces),
      sidecarPath: join(this.#root, 'sidecars', ...pieces),
    };
  }
}

async function* readLocal(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk as Uint8Array;
  } catch (error) {
    const seen = error instanceof Error ? error.message : String(error);
    throw new ExamHallError('PayloadInvalidError', `cannot read the file to store: ${seen}`, { path }, error);
  }
}

async function copyHashing(object: OpenObject, handle: FileHandle): Promise<string> {
  try {
    const hash = createHash('sha256');
    const small = object.readSmall();
    for await (const chunk of small === undefined ? object.read() : [small]) {
      hash.update(chunk as Uint8Array);
      await handle.writeFile(chunk as Uint8Array);
    }
    return hash.digest('hex');
  } finally {
    await handle.close();
  }
}

async function closingOnError<T>(object: OpenObject, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    await object.close();
    throw error;
  }
}
