import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundle, REPOSITORY } from './bundler.ts';

/** One file of the archive that a machine fetches at its first boot. */
export interface BootFile {
  /** Below the folder it is unpacked into, `/`-separated. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
}

/** Programs of the guest by their name, in the archive and beside functions that bring them there themselves. */
const PROGRAMS = { 'runner.mjs': 'images/guest/runner.ts', 'cua-desktop.mjs': 'images/guest/cua-desktop.ts' } as const;

/** Folders whose recipes go along, by their name in the archive. */
const RECIPES = { linux: 'images/ubuntu-desktop', windows: 'images/windows-desktop' } as const;

/** The cua-server of a Linux guest is the one of local desktops. */
const LINUX_LOCK = 'infra/local/desktop/requirements.lock';

/**
 * Everything that both recipes and the guest itself need, sorted by path; nothing of it is secret. The same sources give the
 * same files. `cacheDir` keeps bundles. @throws BundleError.
 */
export async function bootFiles(cacheDir: string): Promise<readonly BootFile[]> {
  const programs = await guestPrograms(cacheDir);
  const recipes = await Promise.all(
    Object.entries(RECIPES).map(([name, folder]) => filesOf(path.join(REPOSITORY, folder), name)),
  );
  const lock = {
    path: 'linux/requirements.lock',
    content: await readFile(path.join(REPOSITORY, LINUX_LOCK)),
    executable: false,
  };
  return [...programs, ...recipes.flat(), lock].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The programs of the guest alone. `cacheDir` keeps bundles. @throws BundleError. */
export async function guestPrograms(cacheDir: string): Promise<readonly BootFile[]> {
  return await Promise.all(
    Object.entries(PROGRAMS).map(async ([name, entry]) => {
      const made = await bundle(path.join(REPOSITORY, entry), { outDir: cacheDir });
      return { path: name, content: await readFile(made.path), executable: false };
    }),
  );
}

async function filesOf(folder: string, name: string): Promise<BootFile[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && !/\.(?:md|ts)$/.test(entry.name));
  return Promise.all(
    files.map(async (entry) => {
      const file = path.join(entry.parentPath, entry.name);
      const inside = path.relative(folder, file).split(path.sep).join('/');
      return { path: `${name}/${inside}`, content: await readFile(file), executable: entry.name.endsWith('.sh') };
    }),
  );
}

const BLOCK = 512;
/** Where a gzip header names the system it was made on. */
const GZIP_SYSTEM_AT = 9;
const GZIP_SYSTEM_UNKNOWN = 255;

/** A gzipped tar archive (ustar) of root's files from 1970: the same files give the same bytes under one version of zlib. */
export function packBootArchive(files: readonly BootFile[]): Uint8Array {
  const blocks = files.flatMap((file) => [
    headerOf(file),
    file.content,
    Buffer.alloc((BLOCK - (file.content.length % BLOCK)) % BLOCK),
  ]);
  const archive = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 });
  archive[GZIP_SYSTEM_AT] = GZIP_SYSTEM_UNKNOWN;
  return archive;
}

function headerOf({ path: name, content, executable }: BootFile): Buffer {
  if (Buffer.byteLength(name) > 100)
    throw new RangeError(`${name} is too long a path for the archive: 100 bytes at most`);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write(octal(executable ? 0o755 : 0o644, 7), 100);
  header.write(octal(0, 7) + octal(0, 7), 108);
  header.write(octal(content.length, 11) + octal(0, 11), 124);
  header.write('        0', 148);
  header.write('ustar\x0000root', 257);
  header.write('root', 297);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}
