import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type FileReader } from '#sdk';

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}

/** A `FileReader` over a folder of this computer, for tests of graders. */
export function folderReader(root: string): FileReader {
  const resolve = (file: string): string => {
    if (path.isAbsolute(file) || file.split('/').includes('..')) throw named('UnsafePathError', `unsafe path ${file}`);
    return path.join(root, file);
  };
  const size = async (file: string): Promise<number> => {
    const found = await lstat(resolve(file)).catch(() => null);
    if (found === null) throw named('FileMissingError', `${file} does not exist`);
    if (!found.isFile()) throw named('UnsafePathError', `${file} is not a regular file`);
    return found.size;
  };
  const readBytes = async (file: string, maxBytes = 64 * 1024 * 1024): Promise<Uint8Array> => {
    const bytes = await size(file);
    if (bytes > maxBytes) throw named('FileTooLargeError', `${file} has ${bytes} bytes, at most ${maxBytes} are read`);
    return readFile(resolve(file));
  };
  return {
    exists: async (file) => (await lstat(resolve(file)).catch(() => null)) !== null,
    sizeBytes: size,
    readBytes,
    readText: async (file, maxBytes) => Buffer.from(await readBytes(file, maxBytes)).toString('utf8'),
    list: async (folder = '') => {
      const entries = await readdir(resolve(folder), { recursive: true, withFileTypes: true }).catch(() => []);
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
        .sort();
    },
  };
}
