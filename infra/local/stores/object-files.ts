import { createHash, randomInt, randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import * as z from 'zod';

import { ExamHallError } from '#core/errors';
import { checkObjectSize } from '#core/object-rules';
import type { ObjectInfo, PutOptions } from '#ports/artifact-store';

import type { OpenObject } from './object-source.ts';
import { makeFolder, storageError } from './storage-error.ts';

const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

/** Where one object lies. */
export interface ObjectPlace {
  readonly key: string;
  readonly dataPath: string;
  /** A cache: what is known of the data file with this identity. Rebuilt when it is missing, torn or of an older file. */
  readonly sidecarPath: string;
}

const SidecarSchema = z.object({ identity: z.string(), sha256: z.string(), contentType: z.string() });
type Sidecar = z.infer<typeof SidecarSchema>;

/** Tells the temporary files of this process from those that a killed one has left. */
const INSTANCE = randomUUID();

/** A fresh name for a file being written. */
export function temporaryPath(folder: string): string {
  return join(folder, `${process.pid}_${INSTANCE}_${randomUUID()}`);
}

/** Removes what writers that are gone have left. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [pid = '', instance] = name.split('_');
    if (instance === INSTANCE || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
    await rm(join(folder, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Writes a whole object: a synced temporary file, moved into place in one step. Readers see the old content or the new.
 * @throws ObjectExistsError, ChecksumMismatchError, StorageFullError, StorageReadOnlyError; then nothing has changed.
 */
export async function writeObject(
  place: ObjectPlace,
  temporary: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: PutOptions,
): Promise<ObjectInfo> {
  const storage = async <T>(action: Promise<T>): Promise<T> => {
    return action.catch((error: unknown) => {
      throw storageError(error, place.dataPath);
    });
  };
  try {
    const written = await writeTemporary(place.key, temporary, content, storage);
    const { sha256, sizeBytes, identity } = written;
    if (options.sha256 !== undefined && options.sha256 !== sha256) throw mismatch(place.key, options.sha256, sha256);
    makeFolder(dirname(place.dataPath));
    if (options.ifAbsent === true) await storage(link(temporary, place.dataPath)).catch(asExists(place.key));
    else await storage(rename(temporary, place.dataPath));
    await writeSidecar(place, { identity, sha256, contentType: options.contentType ?? DEFAULT_CONTENT_TYPE });
    return { key: place.key, sizeBytes, sha256 };
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

/** Opens an object as it is now; undefined when it is absent. */
export async function openObject(place: ObjectPlace): Promise<OpenObject | undefined> {
  const handle = await open(place.dataPath, 'r').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw storageError(error, place.dataPath);
  });
  if (handle === undefined) return undefined;
  try {
    const { identity, sizeBytes } = await identify(handle);
    const known = await readSidecar(place, identity, handle);
    return {
      info: { key: place.key, sizeBytes, sha256: known.sha256 },
      contentType: known.contentType,
      read: (range) => handle.createReadStream(range ?? {}),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw storageError(error, place.dataPath);
  }
}

async function writeTemporary(
  key: string,
  temporary: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  storage: <T>(action: Promise<T>) => Promise<T>,
) {
  const handle = await storage(open(temporary, 'wx'));
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of content) {
      bytes += chunk.byteLength;
      checkObjectSize(key, bytes);
      hash.update(chunk);
      await storage(handle.writeFile(chunk));
    }
    // A time of its own for each write: with it an inode that is used again is not taken for the file it was.
    const now = Date.now() / 1_000;
    await storage(handle.utimes(now, now + randomInt(1_000_000) / 1e9));
    await storage(handle.sync());
    return { sha256: hash.digest('hex'), ...(await storage(identify(handle))) };
  } finally {
    await handle.close();
  }
}

async function identify(handle: FileHandle): Promise<{ readonly identity: string; readonly sizeBytes: number }> {
  const { ino, mtimeNs, size } = await handle.stat({ bigint: true });
  return { identity: `${ino}-${mtimeNs}-${size}`, sizeBytes: Number(size) };
}

async function readSidecar(place: ObjectPlace, identity: string, handle: FileHandle): Promise<Sidecar> {
  const text = await readFile(place.sidecarPath, 'utf8').catch(() => '');
  const sidecar = parseSidecar(text);
  if (sidecar?.identity === identity) return sidecar;
  const hash = createHash('sha256');
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk as Uint8Array);
  const fresh = { identity, sha256: hash.digest('hex'), contentType: DEFAULT_CONTENT_TYPE };
  await writeSidecar(place, fresh);
  return fresh;
}

function parseSidecar(text: string): Sidecar | undefined {
  try {
    return SidecarSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The object is stored already, so a sidecar that cannot be written is no failure: it is computed again when missed. */
async function writeSidecar(place: ObjectPlace, sidecar: Sidecar): Promise<void> {
  try {
    makeFolder(dirname(place.sidecarPath));
    await writeFile(place.sidecarPath, JSON.stringify(sidecar));
  } catch {
    await rm(place.sidecarPath, { force: true }).catch(() => undefined);
  }
}

/** The error for content that is not what was announced. */
export function mismatch(key: string, wanted: string, found: string): ExamHallError {
  const message = `the content of ${JSON.stringify(key)} has sha256 ${found}, and ${wanted} was announced; nothing was written: send it again`;
  return new ExamHallError('ChecksumMismatchError', message, { key, wanted, found });
}

function asExists(key: string): (error: unknown) => never {
  return (error) => {
    const code = error instanceof ExamHallError ? error.details['code'] : undefined;
    if (code !== 'EEXIST') throw error;
    throw new ExamHallError(
      'ObjectExistsError',
      `the object ${JSON.stringify(key)} exists already; nothing was written`,
      {
        key,
      },
    );
  };
}
