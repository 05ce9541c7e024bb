import type { UploadGrant } from '#contracts/guest';

export type Bucket = 'artifacts' | 'tasks' | 'references';

export interface ObjectRef {
  readonly bucket: Bucket;
  readonly key: string;
}

export interface ObjectInfo {
  readonly key: string;
  readonly sizeBytes: number;
  /** Lower-case hex of the content. */
  readonly sha256: string;
}

/** What a listing tells; S3 has no hashes in its listings, so ask `head` for one. */
export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  /** Present when there may be more. Opaque; valid for the same bucket and prefix only, at any limit. */
  readonly cursor?: string;
}

export interface PutOptions {
  /** Write only if the key is free. @throws ObjectExistsError otherwise. */
  readonly ifAbsent?: boolean;
  /** `application/octet-stream` unless told. */
  readonly contentType?: string;
  /** When given, the content must have this hash (lower-case hex). @throws ChecksumMismatchError otherwise; nothing is stored. */
  readonly sha256?: string;
}

/**
 * Bytes at most, or also content of one hash (lower-case hex) for one key only. Without a hash S3 keeps none of what is
 * posted.
 */
export type UploadLimit = number | { readonly maxBytes: number; readonly sha256: string };

/**
 * Objects by bucket and key, as S3 has them: whole writes of up to 5 GiB, strong reads, the last of two writes wins.
 * Keys are 1 to 1,024 bytes of UTF-8 in any shape that does not climb (`a`, `a/`, `a/../b` and `/a` are four keys, `../a`
 * is none). There are no folders.
 * @throws StorageFullError, StorageReadOnlyError from any write on one computer; PayloadInvalidError for bad arguments.
 */
export interface ArtifactStore {
  put(ref: ObjectRef, body: Uint8Array | string, options?: PutOptions): Promise<ObjectInfo>;
  /** Streams a local file into the store. */
  putFile(ref: ObjectRef, path: string, options?: PutOptions): Promise<ObjectInfo>;
  /**
   * `range` is inclusive byte offsets; an end behind the content is cut.
   * @throws ObjectNotFoundError; InvalidRequestError when the content has nothing of the range.
   */
  get(ref: ObjectRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Streams an object into a local file (made with its folders, replaced whole), checking the hash. @throws ObjectNotFoundError. */
  getFile(ref: ObjectRef, path: string): Promise<ObjectInfo>;
  /** Cheap, but for an object that a form stored without a hash: S3 keeps none, and all of it is read to tell one. */
  head(ref: ObjectRef): Promise<ObjectInfo | undefined>;
  /** In the order of the keys' UTF-8 bytes; a page has 1 to 1,000 objects, 1,000 unless told. */
  list(
    bucket: Bucket,
    prefix: string,
    page?: { readonly cursor?: string; readonly limit?: number },
  ): Promise<ObjectPage>;
  /** Server-side copy. @throws ObjectNotFoundError. */
  copy(from: ObjectRef, to: ObjectRef): Promise<ObjectInfo>;
  /** No error when absent. */
  remove(ref: ObjectRef): Promise<void>;
  /**
   * A URL answering GET (with ranges) until it expires, 1 second to 7 days from now; signed whether or not the object is
   * there. Keys with a `.` or `..` between slashes are not for URLs: clients rewrite them.
   */
  signGet(ref: ObjectRef, expiresInSeconds: number): Promise<string>;
  /**
   * Permission to POST any object under a prefix, each within `limit`; with a hash, the one object whose key is exactly
   * `keyPrefix` (which must not hold `${filename}` then). S3's rules hold: a Content-Length, the fields
   * before the file, no fields of one's own (the policy would have to name them, and S3 refuses a form that lacks a named
   * one), `${filename}` in a key is replaced.
   */
  signUpload(bucket: Bucket, keyPrefix: string, expiresInSeconds: number, limit: UploadLimit): Promise<UploadGrant>;
}
