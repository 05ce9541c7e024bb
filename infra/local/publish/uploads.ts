import { stat } from 'node:fs/promises';
import type { Bundle } from '../../bundler.ts';
import type { PublishedFile } from '#core/catalog';
import { ExamHallError, isErrorNamed } from '#core/errors';
import type { ArtifactStore, Bucket } from '#ports/artifact-store';
import type { FolderFile } from './folder-files.ts';

/** A file to be published: where it is, and as what. */
export interface Upload {
  readonly bucket: Bucket;
  readonly absolutePath: string;
  readonly file: PublishedFile;
}

const CONCURRENT_UPLOADS = 4;

export function uploadOf(bucket: Bucket, keyPrefix: string, file: FolderFile, stagedPath: string): Upload {
  return {
    bucket,
    absolutePath: file.absolutePath,
    file: {
      path: stagedPath,
      key: `${keyPrefix}${stagedPath}`,
      sha256: file.sha256,
      sizeBytes: file.sizeBytes,
      executable: file.kind === 'executable',
    },
  };
}

export async function uploadOfBundle(bucket: Bucket, key: string, bundle: Bundle, name: string): Promise<Upload> {
  const { size } = await stat(bundle.path);
  return {
    bucket,
    absolutePath: bundle.path,
    file: { path: name, key, sha256: bundle.sha256, sizeBytes: size, executable: false },
  };
}

/** Writes what the store does not have yet; running it again goes on where it was broken off. */
export async function uploadAll(store: ArtifactStore, uploads: readonly Upload[]): Promise<void> {
  const pending = [...uploads];
  const work = async (): Promise<void> => {
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) await uploadOne(store, next);
  };
  await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, work));
}

/** Writes a manifest, last of all; one that is there already is kept. */
export async function putManifest(store: ArtifactStore, bucket: Bucket, key: string, manifest: unknown): Promise<void> {
  if ((await store.head({ bucket, key })) !== undefined) return;
  const body = `${JSON.stringify(manifest, null, 2)}\n`;
  await unlessThere(() => store.put({ bucket, key }, body, { ifAbsent: true, contentType: 'application/json' }));
}

async function uploadOne(store: ArtifactStore, { bucket, absolutePath, file }: Upload): Promise<void> {
  const ref = { bucket, key: file.key };
  const there = await store.head(ref);
  if (there === undefined) {
    await unlessThere(() => store.putFile(ref, absolutePath, { ifAbsent: true, sha256: file.sha256 }));
  } else if (there.sha256 !== file.sha256) {
    throw new ExamHallError(
      'ChecksumMismatchError',
      `${bucket}/${file.key} holds other bytes (sha256 ${there.sha256}) than ${absolutePath} (${file.sha256}); remove the object and publish again`,
      { key: file.key },
    );
  }
}

async function unlessThere(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isErrorNamed(error, 'ObjectExistsError')) throw error;
  }
}
