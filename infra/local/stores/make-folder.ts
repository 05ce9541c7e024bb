import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

import { storageCode, storageError } from '#core/storage-error';

/** Makes a folder, with the mode given, and those above it. @throws StorageFullError, StorageReadOnlyError, StoreUnavailableError */
export function makeFolder(path: string, mode = 0o777): void {
  if (existsSync(path)) return;
  try {
    const parent = dirname(path);
    // One by one, because the recursive form calls every failure "no such file or directory" on a read-only disk.
    if (parent !== path) makeFolder(parent);
    mkdirSync(path, { mode });
  } catch (error) {
    if (storageCode(error) !== 'EEXIST') throw storageError(error, path);
  }
}
