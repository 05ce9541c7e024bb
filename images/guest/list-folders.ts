import type { FolderListing, ListedEntry, ListingRequest } from '#contracts/guest-listing';
import { allowanceOf, isFolder, textOf, walk, type Found } from './collect-walk.ts';
import { objectKeyOf } from './object-key.ts';

/** Lists folders for a host that fetches their files itself, by the rules and limits of a collect job. */
export async function listFolders({ roots, limits }: ListingRequest): Promise<FolderListing> {
  const allowance = allowanceOf(limits);
  const listed = [];
  for (const { path, keyPrefix } of roots) {
    const missing = !(await isFolder(path));
    const entries: ListedEntry[] = [];
    if (!missing) for await (const found of walk(Buffer.from(path), allowance)) entries.push(entryOf(found));
    listed.push({ keyPrefix, missing, entries });
  }
  return { roots: listed };
}

function entryOf(found: Found): ListedEntry {
  if (found.kind === 'settled') return { settled: found.entry };
  const { relative, absolute, sizeBytes } = found;
  const isText = Buffer.from(textOf(absolute), 'utf8').equals(absolute);
  return {
    file: {
      path: textOf(relative),
      absolute: isText ? textOf(absolute) : null,
      key: objectKeyOf(relative),
      sizeBytes,
    },
  };
}
