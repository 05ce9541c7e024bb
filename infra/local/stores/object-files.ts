import { createHash, randomInt, randomUUID } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  fstatSync,
  fsync,
  futimesSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  write,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import * as z from 'zod';

import { ExamHallError } from '#core/errors';
import { checkObjectSize } from '#core/object-rules';
import type { ObjectInfo, PutOptions } from '#ports/artifact-store';

import type { ObjectPlace, OpenObject } from './object-source.ts';
import { storageError } from '#core/storage-error';
import { makeFolder } from './make-folder.ts';

const DEFAULT_CONTENT_TYPE = 'application/octet-stream';
/** What is written to the system's cache, or read from it, without giving way to others. */
const SYNCHRONOUS_BYTES = 1_024 * 1_024;

const fsyncFile = promisify(fsync);
const writeFilePart = promisify(write);

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
  const file = onDisk(place.dataPath, () => openSync(temporary, 'wx'));
  try {
    const { sha256, identity, sizeBytes } = await writeTemporary(place, file, content);
    if (options.sha256 !== undefined && options.sha256 !== sha256) throw mismatch(place.key, options.sha256, sha256);
    makeFolder(dirname(place.dataPath));
    moveIntoPlace(place, temporary, options.ifAbsent === true);
    writeSidecar(place, { identity, sha256, contentType: options.contentType ?? DEFAULT_CONTENT_TYPE });
    return { key: place.key, sizeBytes, sha256 };
  } finally {
    closeSync(file);
    rmSync(temporary, { force: true });
  }
}

/** Opens an object as it is now; undefined when it is absent. */
export async function openObject(place: ObjectPlace): Promise<OpenObject | undefined> {
  const file = openIfThere(place.dataPath);
  if (file === undefined) return undefined;
  try {
    const { identity, sizeBytes } = identify(file);
    const known = await readSidecar(place, identity, file);
    return openedFile(place, file, { sizeBytes, ...known });
  } catch (error) {
    closeSync(file);
    throw storageError(error, place.dataPath);
  }
}

function openedFile(
  place: ObjectPlace,
  file: number,
  { sizeBytes, sha256, contentType }: Pick<Sidecar, 'sha256' | 'contentType'> & { readonly sizeBytes: number },
): OpenObject {
  return {
    info: { key: place.key, sizeBytes, sha256 },
    contentType,
    read: (range) => createReadStream('', { fd: file, start: range?.start ?? 0, end: range?.end ?? Infinity }),
    readSmall: ({ start, end } = { start: 0, end: sizeBytes - 1 }) => {
      if (end - start >= SYNCHRONOUS_BYTES) return undefined;
      try {
        const content = Buffer.allocUnsafe(end - start + 1);
        return content.subarray(0, readSync(file, content, 0, content.length, start));
      } catch (error) {
        throw storageError(error, place.dataPath);
      } finally {
        closeSync(file);
      }
    },
    close: () => {
      closeSync(file);
      return Promise.resolve();
    },
  };
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return undefined;
    }
    throw storageError(error, path);
  }
}

/** Short steps are synchronous: each costs microseconds, and a trip through the thread pool more than that. */
async function writeTemporary(
  place: ObjectPlace,
  file: number,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<{ readonly sha256: string; readonly identity: string; readonly sizeBytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.byteLength;
    checkObjectSize(place.key, bytes);
    hash.update(chunk);
    await writeChunk(place, file, chunk, bytes <= SYNCHRONOUS_BYTES);
  }
  // A time of its own for each write: with it an inode that is used again is not taken for the file it was.
  const now = Date.now() / 1_000;
  onDisk(place.dataPath, () => futimesSync(file, now, now + randomInt(1_000_000) / 1e9));
  await fsyncFile(file).catch((error: unknown) => {
    throw storageError(error, place.dataPath);
  });
  const { identity, sizeBytes } = onDisk(place.dataPath, () => identify(file));
  return { sha256: hash.digest('hex'), identity, sizeBytes };
}

async function writeChunk(place: ObjectPlace, file: number, chunk: Uint8Array, isSynchronous: boolean): Promise<void> {
  try {
    for (let done = 0; done < chunk.byteLength;) {
      const rest = chunk.subarray(done);
      done += isSynchronous ? writeSync(file, rest) : (await writeFilePart(file, rest)).bytesWritten;
    }
  } catch (error) {
    throw storageError(error, place.dataPath);
  }
}

function moveIntoPlace(place: ObjectPlace, temporary: string, isAbsentWanted: boolean): void {
  try {
    if (isAbsentWanted) linkSync(temporary, place.dataPath);
    else renameSync(temporary, place.dataPath);
  } catch (error) {
    if (!isAbsentWanted || !(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw storageError(error, place.dataPath);
    }
    const message = `the object ${JSON.stringify(place.key)} exists already; nothing was written`;
    throw new ExamHallError('ObjectExistsError', message, { key: place.key });
  }
}

function onDisk<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw storageError(error, path);
  }
}

function identify(file: number): { readonly identity: string; readonly sizeBytes: number } {
  const { ino, mtimeNs, size } = fstatSync(file, { bigint: true });
  return { identity: `${ino}-${mtimeNs}-${size}`, sizeBytes: Number(size) };
}

async function readSidecar(place: ObjectPlace, identity: string, file: number): Promise<Sidecar> {
  const sidecar = parseSidecar(place.sidecarPath);
  if (sidecar?.identity === identity) return sidecar;
  const hash = createHash('sha256');
  const content = createReadStream('', { fd: file, start: 0, autoClose: false });
  for await (const chunk of content) hash.update(chunk as Uint8Array);
  const fresh = { identity, sha256: hash.digest('hex'), contentType: DEFAULT_CONTENT_TYPE };
  writeSidecar(place, fresh);
  return fresh;
}

function parseSidecar(path: string): Sidecar | undefined {
  try {
    return SidecarSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

/** The object is stored already, so a sidecar that cannot be written is no failure: it is computed again when missed. */
function writeSidecar(place: ObjectPlace, sidecar: Sidecar): void {
  try {
    makeFolder(dirname(place.sidecarPath));
    writeFileSync(place.sidecarPath, JSON.stringify(sidecar));
  } catch {
    // A torn or old one is not believed.
  }
}

/** The error for content that is not what was announced. */
export function mismatch(key: string, wanted: string, found: string): ExamHallError {
  const message = `the content of ${JSON.stringify(key)} has sha256 ${found}, and ${wanted} was announced; nothing was written: send it again`;
  return new ExamHallError('ChecksumMismatchError', message, { key, wanted, found });
}
