import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import path from 'node:path';

/** Default of `maxBytes`, and the most any read may ask for. */
export const MAX_READ_BYTES = 64 * 1024 * 1024;

const MAX_LISTED_FILES = 100_000;

/** A refusal or miss that the module is told by name; anything else that goes wrong is the host's own fault. */
export class FolderReadError extends Error {
  override readonly name:
    'FileMissingError' | 'FileTooLargeError' | 'UnsafePathError' | 'ReferenceMissingError' | 'SessionUnavailableError';

  constructor(name: FolderReadError['name'], message: string) {
    super(message);
    this.name = name;
  }
}

type Found =
  | { readonly kind: 'file'; readonly file: string; readonly sizeBytes: number }
  | { readonly kind: 'missing' | 'unsafe' };

/**
 * Reads below one folder on behalf of a module. Nothing is reached through a link, and only regular files exist:
 * a link, device or pipe counts as absent for `exists` and is refused by name when read.
 */
export class FolderReader {
  readonly #name: string;
  readonly #folder: string;

  constructor(name: string, folder: string) {
    this.#name = name;
    this.#folder = folder;
  }

  async exists(relativePath: string): Promise<boolean> {
    return (await this.#find(relativePath)).kind === 'file';
  }

  async sizeBytes(relativePath: string): Promise<number> {
    return (await this.#file(relativePath)).sizeBytes;
  }

  async read(relativePath: string, maxBytes: number): Promise<Uint8Array> {
    const { file, sizeBytes } = await this.#file(relativePath);
    if (sizeBytes > maxBytes) throw this.#tooLarge(relativePath, sizeBytes, maxBytes);
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) throw this.#unsafe(relativePath);
      if (stat.size > maxBytes) throw this.#tooLarge(relativePath, stat.size, maxBytes);
      const content = Buffer.alloc(stat.size);
      let filled = 0;
      while (filled < content.length) {
        const { bytesRead } = await handle.read(content, filled, content.length - filled, filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return content.subarray(0, filled);
    } finally {
      await handle.close();
    }
  }

  /** Relative paths of all regular files, sorted by code unit. */
  async list(relativeFolder: string): Promise<readonly string[]> {
    const parts = relativeFolder === '' ? [] : this.#parts(relativeFolder);
    if (!(await this.#isFolder(parts))) return [];
    const files: string[] = [];
    const pending = [parts];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const item of await readdir(path.join(this.#folder, ...next), { withFileTypes: true })) {
        if (item.isDirectory()) pending.push([...next, item.name]);
        if (item.isFile()) files.push([...next, item.name].join('/'));
      }
      if (files.length > MAX_LISTED_FILES) {
        throw new FolderReadError('FileTooLargeError', `${this.#name} holds more than ${MAX_LISTED_FILES} files`);
      }
    }
    return files.sort();
  }

  async #file(relativePath: string): Promise<Extract<Found, { kind: 'file' }>> {
    const found = await this.#find(relativePath);
    if (found.kind === 'file') return found;
    if (found.kind === 'unsafe') throw this.#unsafe(relativePath);
    const name = this.#name === 'reference' ? 'ReferenceMissingError' : 'FileMissingError';
    throw new FolderReadError(name, `${this.#name} has no file ${JSON.stringify(relativePath)}`);
  }

  async #find(relativePath: string): Promise<Found> {
    const parts = this.#parts(relativePath);
    for (const depth of parts.keys()) {
      const file = path.join(this.#folder, ...parts.slice(0, depth + 1));
      const stat = await lstatOrNothing(file);
      if (stat === undefined) return { kind: 'missing' };
      const isLast = depth === parts.length - 1;
      if (isLast && stat.isFile()) return { kind: 'file', file, sizeBytes: stat.size };
      if (isLast && stat.isDirectory()) return { kind: 'missing' };
      if (!stat.isDirectory()) return stat.isFile() ? { kind: 'missing' } : { kind: 'unsafe' };
    }
    return { kind: 'missing' };
  }

  async #isFolder(parts: readonly string[]): Promise<boolean> {
    for (let depth = 0; depth <= parts.length; depth += 1) {
      const stat = await lstatOrNothing(path.join(this.#folder, ...parts.slice(0, depth)));
      if (stat === undefined || !stat.isDirectory()) return false;
    }
    return true;
  }

  #parts(relativePath: string): string[] {
    const parts = relativePath.split('/');
    const isUnsafe =
      path.isAbsolute(relativePath) ||
      /[\0\\]/.test(relativePath) ||
      parts.some((part) => part === '' || part === '.' || part === '..');
    if (isUnsafe) {
      throw new FolderReadError(
        'UnsafePathError',
        `${JSON.stringify(relativePath)} is no path inside ${this.#name}; allowed: relative, parts split by /, without . and ..`,
      );
    }
    return parts;
  }

  #unsafe(relativePath: string): FolderReadError {
    return new FolderReadError(
      'UnsafePathError',
      `${JSON.stringify(relativePath)} in ${this.#name} is a link, device, pipe or socket; only regular files are read`,
    );
  }

  #tooLarge(relativePath: string, sizeBytes: number, maxBytes: number): FolderReadError {
    return new FolderReadError(
      'FileTooLargeError',
      `${JSON.stringify(relativePath)} in ${this.#name} has ${sizeBytes} bytes; the limit of this read is ${maxBytes}`,
    );
  }
}

async function lstatOrNothing(file: string): Promise<Stats | undefined> {
  try {
    return await lstat(file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return undefined;
    throw error;
  }
}
