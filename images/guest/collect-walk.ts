import { constants } from 'node:fs';
import { lstat, open, readdir, readlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { CollectEntry, CollectLimits } from '#contracts/guest';
import { codeOf } from './job-folder.ts';

const MIB = 1024 * 1024;
/** Folders, links and refused files that are gone through beyond the file limit. */
const SPARE_ENTRIES = 10_000;
/** Bytes of a path, or of a link's target, that one entry may have; longer ones count as several. */
const ENTRY_BYTES = 128;
const TARGET_LIMIT_BYTES = 1024;
/** Windows has neither flag. */
const { O_NOFOLLOW: NOFOLLOW = 0, O_NONBLOCK: NONBLOCK = 0 } = constants as Partial<typeof constants>;
const SLASH = Buffer.from('/');

/** What a walk hands over: a path that is settled, or a regular file to upload. */
export type Found =
  | { readonly kind: 'settled'; readonly entry: CollectEntry }
  | { readonly kind: 'file'; readonly relative: Buffer; readonly absolute: Buffer; readonly sizeBytes: number };

/** What the limits leave; shared by all folders of one job. */
export interface Allowance {
  files: number;
  bytes: number;
  readonly fileBytes: number;
}

export function allowanceOf(limits: CollectLimits): Allowance {
  return { files: limits.maxFiles, bytes: limits.maxTotalMiB * MIB, fileBytes: limits.maxFileMiB * MIB };
}

/** The name as text; bytes that are no UTF-8 become U+FFFD. */
export function textOf(name: Buffer): string {
  return name.toString('utf8');
}

/** `false` when there is no such folder, or something that is not one (a link to a folder is not one). */
export async function isFolder(folder: string): Promise<boolean> {
  const info = await lstat(folder).catch(() => undefined);
  return info?.isDirectory() === true;
}

/**
 * As `isFolder`, and so for every folder above: where a link stands in the way there is none. On Windows a junction is a link, and
 * anybody may put one where they may write.
 */
export async function isFolderOfFolders(folder: string): Promise<boolean> {
  const whole = path.resolve(folder);
  for (let at = whole; ; at = path.dirname(at)) {
    if (!(await isFolder(at))) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * Goes through a folder in the order of names, never following a link and never opening what is not a regular file.
 * Names are bytes throughout. Empty folders leave no entry. Every folder and entry counts, long paths several times, and a
 * walk that stops for that says so once: what is handed over is bounded whatever the folder holds.
 */
export async function* walk(root: Buffer, allowance: Allowance): AsyncGenerator<Found> {
  const budget = { entries: allowance.files + SPARE_ENTRIES, isTold: false };
  yield* walkFolder(root, Buffer.alloc(0), { allowance, budget });
}

interface WalkState {
  readonly allowance: Allowance;
  readonly budget: { entries: number; isTold: boolean };
}

async function* walkFolder(absolute: Buffer, relative: Buffer, state: WalkState): AsyncGenerator<Found> {
  let names: Buffer[];
  try {
    names = await readdir(absolute, { encoding: 'buffer' });
  } catch {
    yield settled(relative, 'other', 0, { skipped: 'unreadable' });
    return;
  }
  for (const name of names.sort((a, b) => a.compare(b))) {
    if (state.budget.entries <= 0) {
      if (!state.budget.isTold) yield settled(relative, 'other', 0, { skipped: 'too-many' });
      state.budget.isTold = true;
      return;
    }
    const below = relative.length === 0 ? name : Buffer.concat([relative, SLASH, name]);
    yield* walkEntry(Buffer.concat([absolute, SLASH, name]), below, state);
  }
}

async function* walkEntry(absolute: Buffer, relative: Buffer, state: WalkState): AsyncGenerator<Found> {
  state.budget.entries -= 1 + excessOf(relative.length);
  const info = await lstat(absolute).catch(() => undefined);
  if (info?.isDirectory() === true) {
    yield* walkFolder(absolute, relative, state);
    return;
  }
  if (info === undefined) yield settled(relative, 'other', 0, { skipped: 'unreadable' });
  else if (info.isSymbolicLink()) yield await linkAt(absolute, relative, state);
  else if (!info.isFile()) yield settled(relative, 'other', 0, { skipped: 'not-regular' });
  else yield claim(absolute, relative, info.size, state.allowance);
}

/** A regular file against the limits, judged by its size alone: a sparse file costs nothing to refuse. */
function claim(absolute: Buffer, relative: Buffer, sizeBytes: number, allowance: Allowance): Found {
  if (sizeBytes > allowance.fileBytes) return settled(relative, 'file', sizeBytes, { skipped: 'too-large' });
  if (allowance.files <= 0) return settled(relative, 'file', sizeBytes, { skipped: 'too-many' });
  if (sizeBytes > allowance.bytes) return settled(relative, 'file', sizeBytes, { skipped: 'total-too-large' });
  allowance.files -= 1;
  allowance.bytes -= sizeBytes;
  return { kind: 'file', relative, absolute, sizeBytes };
}

async function linkAt(absolute: Buffer, relative: Buffer, { budget }: WalkState): Promise<Found> {
  const whole = await readlink(absolute, { encoding: 'buffer' }).catch(() => undefined);
  const target = whole?.subarray(0, TARGET_LIMIT_BYTES);
  budget.entries -= excessOf(target?.length ?? 0);
  return settled(relative, 'link', 0, { target: target === undefined ? null : textOf(target) });
}

/** How many entries more than one a text of this length counts as. */
function excessOf(lengthBytes: number): number {
  return Math.floor(lengthBytes / ENTRY_BYTES);
}

function settled(
  relative: Buffer,
  kind: CollectEntry['kind'],
  sizeBytes: number,
  rest: Partial<Pick<CollectEntry, 'target' | 'skipped'>>,
): Found {
  const entry = { path: textOf(relative), kind, sizeBytes, sha256: null, key: null, target: null, skipped: null };
  return { kind: 'settled', entry: { ...entry, ...rest } };
}

/**
 * Opens a regular file and nothing else: not through a link, and without waiting for the other end of a pipe. With `hasOneName`
 * also none that has another name: who may not read a file may have been able to give it one.
 */
export async function openRegular(
  file: Buffer,
  { hasOneName }: { readonly hasOneName: boolean },
): Promise<FileHandle | 'unreadable' | 'not-regular'> {
  const flags = constants.O_RDONLY | NOFOLLOW | NONBLOCK;
  let handle: FileHandle;
  try {
    handle = await open(file, flags);
  } catch (error) {
    return codeOf(error) === 'ELOOP' ? 'not-regular' : 'unreadable';
  }
  const info = await handle.stat();
  if (info.isFile() && !(hasOneName && info.nlink > 1)) return handle;
  await handle.close();
  return 'not-regular';
}
