import { createHash } from 'node:crypto';
import type { UploadGrant } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { Bucket, ObjectInfo, ObjectRef } from '#ports/artifact-store';
import type { ScratchFolder, Workspace } from '#ports/workspace';
import { InMemoryArtifactStore } from './artifact-store.ts';

/** An artefact store whose files are in memory too, at the paths of a fake workspace. */
export class ScratchArtifactStore extends InMemoryArtifactStore {
  readonly scratchFiles = new Map<string, Buffer>();

  override async getFile(ref: ObjectRef, path: string): Promise<ObjectInfo> {
    const content = Buffer.from(await this.get(ref));
    this.scratchFiles.set(path, content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    return { key: ref.key, sizeBytes: content.length, sha256 };
  }
}

/** Scratch folders in memory, and transfers by the store's own signed URLs without a server. */
export class MemoryWorkspace implements Workspace {
  readonly openFolders = new Set<string>();
  readonly #store: ScratchArtifactStore;
  #made = 0;
  #failures: Error[] = [];

  constructor(store: ScratchArtifactStore) {
    this.#store = store;
  }

  /** The next transfer rejects with this error. */
  failNext(error: Error): void {
    this.#failures.push(error);
  }

  async open(): Promise<ScratchFolder> {
    const path = `/scratch/${String((this.#made += 1))}`;
    this.openFolders.add(path);
    const inside = (parts: readonly string[]): string => {
      if (parts.some((part) => part.split('/').includes('..')))
        throw new ExamHallError('UnsafePathError', `${parts.join('/')} would lie outside the scratch folder`);
      return [path, ...parts].join('/');
    };
    return {
      path,
      fileAt: async (...parts) => inside(parts),
      makeDir: async (...parts) => inside(parts),
      remove: async () => {
        this.openFolders.delete(path);
        for (const file of this.#store.scratchFiles.keys())
          if (file.startsWith(`${path}/`)) this.#store.scratchFiles.delete(file);
      },
    };
  }

  async download(url: string, path: string, sha256: string | null): Promise<void> {
    this.#mayFail();
    const info = await this.#store.getFile(refOf(url), path);
    if (sha256 !== null && info.sha256 !== sha256)
      throw new ExamHallError('ChecksumMismatchError', `a download has sha256 ${info.sha256}; expected ${sha256}`);
  }

  async readUrl(url: string): Promise<string> {
    this.#mayFail();
    return new TextDecoder().decode(await this.#store.get(refOf(url)));
  }

  async upload(grant: UploadGrant, key: string, body: string): Promise<void> {
    this.#mayFail();
    if (!key.startsWith(grant.keyPrefix))
      throw new ExamHallError('StoreUnavailableError', `uploading ${key} was answered 403`);
    await this.#store.put({ bucket: bucketOf(grant.url), key }, body);
  }

  #mayFail(): void {
    const error = this.#failures.shift();
    if (error !== undefined) throw error;
  }
}

function refOf(url: string): ObjectRef {
  return { bucket: bucketOf(url), key: new URL(url).searchParams.get('key') ?? '' };
}

function bucketOf(url: string): Bucket {
  return new URL(url).pathname.slice(1).split('/')[0] as Bucket;
}
