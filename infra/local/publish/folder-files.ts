import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { isCachePath } from '#core/task-revision';

/** A regular file of a folder, with its content's hash. */
export interface FolderFile {
  readonly kind: 'file' | 'executable';
  /** Relative, `/`-separated. */
  readonly path: string;
  readonly absolutePath: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export type FolderEntry =
  | FolderFile
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string }
  | { readonly kind: 'other'; readonly path: string };

/** Everything below a folder but caches, in order of path; links are told, never followed. */
export async function listFolder(root: string): Promise<readonly FolderEntry[]> {
  const entries: FolderEntry[] = [];
  const pending = [''];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const item of await readdir(path.join(root, folder), { withFileTypes: true })) {
      const relative = folder === '' ? item.name : `${folder}/${item.name}`;
      if (isCachePath(relative)) continue;
      if (item.isDirectory()) pending.push(relative);
      else entries.push(await readEntry(root, relative));
    }
  }
  return entries.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function readEntry(root: string, relative: string): Promise<FolderEntry> {
  const absolutePath = path.join(root, relative);
  const stat = await lstat(absolutePath);
  if (stat.isSymbolicLink()) return { kind: 'symlink', path: relative, target: await readlink(absolutePath) };
  if (!stat.isFile()) return { kind: 'other', path: relative };
  const isExecutable = process.platform !== 'win32' && (stat.mode & 0o111) !== 0;
  return {
    kind: isExecutable ? 'executable' : 'file',
    path: relative,
    absolutePath,
    sizeBytes: stat.size,
    sha256: await hashFile(absolutePath),
  };
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}
