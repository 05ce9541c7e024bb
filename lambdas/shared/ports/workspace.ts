import type { UploadGrant } from '#contracts/guest';

/** A private scratch folder of one invocation. */
export interface ScratchFolder {
  readonly path: string;
  /** Path of a file inside, whose folders exist afterwards. @throws UnsafePathError when it would lie outside. */
  fileAt(...parts: readonly string[]): Promise<string>;
  makeDir(...parts: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

/** Scratch folders, and transfers by URL for functions that hold no rights of their own. */
export interface Workspace {
  open(): Promise<ScratchFolder>;
  /** @throws ChecksumMismatchError | StoreUnavailableError. */
  download(url: string, path: string, sha256: string | null): Promise<void>;
  readUrl(url: string): Promise<string>;
  upload(grant: UploadGrant, key: string, body: string): Promise<void>;
}
