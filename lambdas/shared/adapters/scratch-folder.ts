import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';

import { ExamHallError } from '#core/errors';
import { storageError } from '#core/storage-error';
import type { ScratchFolder } from '#ports/workspace';

/** Makes a new folder below `parent` that nobody else can read. @throws StorageFullError, StorageReadOnlyError */
export async function openScratchFolder(parent: string): Promise<ScratchFolder> {
  try {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    return scratchAt(await mkdtemp(path.join(parent, 'scratch-')));
  } catch (error) {
    throw storageError(error, parent);
  }
}

function scratchAt(root: string): ScratchFolder {
  const inside = (parts: readonly string[]): string => {
    const full = path.resolve(root, ...parts);
    if (full.startsWith(root + path.sep) && !full.includes('\0')) return full;
    const seen = JSON.stringify(parts.join('/'));
    throw new ExamHallError('UnsafePathError', `${seen} would lie outside the scratch folder`);
  };
  const make = async (folder: string): Promise<void> => {
    try {
      await mkdir(folder, { recursive: true });
    } catch (error) {
      throw storageError(error, folder);
    }
  };
  return {
    path: root,
    fileAt: async (...parts) => {
      const file = inside(parts);
      await make(path.dirname(file));
      return file;
    },
    makeDir: async (...parts) => {
      const folder = inside(parts);
      await make(folder);
      return folder;
    },
    remove: async () => {
      await rm(root, { recursive: true, force: true });
    },
  };
}
