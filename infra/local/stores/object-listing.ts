import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { compareUtf8 } from '#core/utf8';
import type { PreparedListing } from '#core/object-rules';
import type { ListedObject } from '#ports/artifact-store';

import { folderOfPrefix, readEntry } from './object-paths.ts';

interface Entry {
  /** A key, or for a folder what every key in it begins with. */
  readonly text: string;
  readonly path: string;
  readonly isFolder: boolean;
}

/** Walks a bucket's folder in the order of the keys, entering only what the listing can hold. */
export async function* listObjects(bucketPath: string, asked: PreparedListing): AsyncGenerator<ListedObject> {
  const { pieces, covered } = folderOfPrefix(asked.prefix);
  yield* walk({ text: covered, path: join(bucketPath, ...pieces), isFolder: true }, asked);
}

async function* walk(folder: Entry, asked: PreparedListing): AsyncGenerator<ListedObject> {
  const entries = await readEntries(folder, '');
  // A folder's text ends in a slash and all its keys begin with it, so no other entry sorts in between them.
  entries.sort((left, right) => compareUtf8(left.text, right.text));
  for (const entry of entries) {
    if (entry.isFolder) {
      if (canHold(entry.text, asked)) yield* walk(entry, asked);
    } else if (isAsked(entry.text, asked)) {
      const sizeBytes = await sizeOf(entry.path);
      if (sizeBytes !== undefined) yield { key: entry.text, sizeBytes };
    }
  }
}

/** The folder's entries, those of its continuation folders among them. */
async function readEntries(folder: Entry, carried: string): Promise<Entry[]> {
  const names = await orAbsent(readdir(folder.path));
  const entries: Entry[] = [];
  for (const name of names ?? []) {
    const path = join(folder.path, name);
    const entry = readEntry(name, carried);
    if (entry.kind === 'continuation') {
      entries.push(...(await readEntries({ ...folder, path }, entry.text)));
    } else {
      const isFolder = entry.kind === 'folder';
      entries.push({ text: `${folder.text}${entry.segment}${isFolder ? '/' : ''}`, path, isFolder });
    }
  }
  return entries;
}

function canHold(text: string, { prefix, after }: PreparedListing): boolean {
  if (!text.startsWith(prefix) && !prefix.startsWith(text)) return false;
  return after === null || after.startsWith(text) || compareUtf8(text, after) > 0;
}

function isAsked(key: string, { prefix, after }: PreparedListing): boolean {
  return key.startsWith(prefix) && (after === null || compareUtf8(key, after) > 0);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await orAbsent(stat(path)))?.size;
}

/** Undefined for what is not there, or was removed while we walked. */
async function orAbsent<T>(action: Promise<T>): Promise<T | undefined> {
  return action.catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined;
    throw error;
  });
}
