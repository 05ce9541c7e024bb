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

export interface ObjectPage {
  readonly objects: readonly ObjectInfo[];
  readonly cursor?: string;
}

export interface PutOptions {
  /** Write only if the key is free. @throws ObjectExistsError otherwise. */
  readonly ifAbsent?: boolean;
  readonly contentType?: string;
  /** When given, the content must have this hash. @throws ChecksumMismatchError otherwise; nothing is stored. */
  readonly sha256?: string;
}

/** Objects by bucket and key, as S3 has them: whole writes, strong reads, listing in key order. */
export interface ArtifactStore {
  put(ref: ObjectRef, body: Uint8Array | string, options?: PutOptions): Promise<ObjectInfo>;
  /** Streams a local file into the store. */
  putFile(ref: ObjectRef, path: string, options?: PutOptions): Promise<ObjectInfo>;
  /** @throws ObjectNotFoundError. `range` is inclusive byte offsets. */
  get(ref: ObjectRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Streams an object into a local file (made with its folders), checking the hash. @throws ObjectNotFoundError. */
  getFile(ref: ObjectRef, path: string): Promise<ObjectInfo>;
  head(ref: ObjectRef): Promise<ObjectInfo | undefined>;
  list(bucket: Bucket, prefix: string, page?: { readonly cursor?: string; readonly limit?: number }): Promise<ObjectPage>;
  /** Server-side copy. */
  copy(from: ObjectRef, to: ObjectRef): Promise<ObjectInfo>;
  /** No error when absent. */
  remove(ref: ObjectRef): Promise<void>;
  /** A URL answering GET (with ranges) until it expires. */
  signGet(ref: ObjectRef, expiresInSeconds: number): Promise<string>;
  /** Permission to POST any object under a prefix, each at most `maxBytes`. */
  signUpload(bucket: Bucket, keyPrefix: string, expiresInSeconds: number, maxBytes: number): Promise<UploadGrant>;
}
