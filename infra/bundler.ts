import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, version as esbuildVersion, type BuildOptions, type Message, type Metafile } from 'esbuild';
import { sourcePlugin, type ImportPolicy } from './bundler-plugin.ts';

/** Root of the repository whose `imports` and packages every bundle resolves against. */
export const REPOSITORY = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** npm packages that authors of tasks and agents may import: pure JavaScript, no I/O. */
export const AUTHOR_PACKAGES: readonly string[] = ['yaml', 'zod'];

/**
 * What a bundle may import. `trusted` is our own code. `pure` (tasks, parsers) and `script` (launch and
 * solution scripts, which also get Node's built-ins) are authors' code: `#sdk`, files of their own folder
 * or of a `_shared` folder beside it, and AUTHOR_PACKAGES.
 */
export type BundleKind = 'trusted' | 'pure' | 'script';

export interface BundleOptions {
  /** Bundles and their cache entries are kept here. */
  readonly outDir: string;
  /** Default `trusted`. */
  readonly kind?: BundleKind;
  /** Folder whose files authors' code may import; default the entry's own. */
  readonly root?: string;
  /** Packages left out of the bundle (native ones); never for authors' code. */
  readonly external?: readonly string[];
}

/** A self-contained ES module for Node 20 and later, named `<sha256>.mjs`. */
export interface Bundle {
  readonly path: string;
  readonly sha256: string;
  /** Names the module exports. */
  readonly exports: readonly string[];
}

/** Bundling failed; the message has one line per problem with file, line and what is allowed. */
export class BundleError extends Error {
  override readonly name = 'BundleError';
}

interface CacheEntry {
  readonly sha256: string;
  readonly exports: readonly string[];
  readonly inputs: Readonly<Record<string, string>>;
}

const CACHE_VERSION = 1;
const BANNER = `import { createRequire as __examhallRequire } from 'node:module';\nconst require = __examhallRequire(import.meta.url);`;

/**
 * Bundles one entry. The same sources give the same bytes wherever the entry's folder lies.
 * @throws BundleError for syntax errors, missing files and imports that are not allowed.
 */
export async function bundle(entry: string, options: BundleOptions): Promise<Bundle> {
  const kind = options.kind ?? 'trusted';
  const entryPath = await realpath(entry).catch(() => {
    throw new BundleError(`${entry} does not exist; an entry must be a TypeScript or JavaScript file`);
  });
  const cacheKey = sha256Of(
    JSON.stringify([
      CACHE_VERSION,
      esbuildVersion,
      BANNER,
      entryPath,
      kind,
      options.external ?? [],
      options.root ?? null,
    ]),
  );
  const cacheFile = path.join(options.outDir, `${cacheKey.slice(0, 32)}.cache.json`);
  const cached = await readCache(cacheFile, options.outDir);
  if (cached !== undefined) return cached;

  const inputs = new Set<string>([path.join(REPOSITORY, 'package.json')]);
  const result = await runBuild(entryPath, kind, options, inputs);
  const outPath = path.join(options.outDir, `${result.sha256}.mjs`);
  await mkdir(options.outDir, { recursive: true });
  await writeAtomically(outPath, result.contents);
  const entryRecord: CacheEntry = {
    sha256: result.sha256,
    exports: result.exports,
    inputs: await hashFiles([...inputs].sort()),
  };
  await writeAtomically(cacheFile, JSON.stringify(entryRecord));
  return { path: outPath, sha256: result.sha256, exports: result.exports };
}

/** Bundles entries by name, each into a module of its own. @throws BundleError for the first that fails. */
export async function bundleMany<Name extends string>(
  entries: Readonly<Record<Name, string>>,
  options: BundleOptions,
): Promise<Readonly<Record<Name, Bundle>>> {
  const names = Object.keys(entries) as Name[];
  const bundles = await Promise.all(names.map((name) => bundle(entries[name], options)));
  return Object.fromEntries(names.map((name, index) => [name, bundles[index]])) as Record<Name, Bundle>;
}

async function runBuild(
  entryPath: string,
  kind: BundleKind,
  options: BundleOptions,
  inputs: Set<string>,
): Promise<{ readonly contents: Uint8Array; readonly sha256: string; readonly exports: readonly string[] }> {
  const folder = path.dirname(entryPath);
  const root = options.root === undefined ? folder : await realpath(options.root);
  const buildOptions: BuildOptions = {
    entryPoints: [entryPath],
    absWorkingDir: REPOSITORY,
    bundle: true,
    write: false,
    metafile: true,
    outfile: 'module.mjs',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
    tsconfigRaw: { compilerOptions: { target: 'ES2022', verbatimModuleSyntax: true } },
    banner: { js: BANNER },
    external: [...(kind === 'trusted' ? (options.external ?? []) : [])],
    plugins: [
      sourcePlugin({
        folder,
        root,
        repository: REPOSITORY,
        policy: policyOf(kind),
        onFile: (file) => inputs.add(file),
      }),
    ],
  };
  const output = await build(buildOptions).catch((error: unknown) => {
    throw new BundleError(describeFailure(error, folder));
  });
  for (const file of fileInputs(output.metafile)) inputs.add(file);
  const contents = output.outputFiles?.[0]?.contents;
  if (contents === undefined) throw new BundleError(`${entryPath} gave no output`);
  const exports = Object.values(output.metafile?.outputs ?? {}).flatMap((file) => file.exports);
  return { contents, sha256: sha256Of(contents), exports: exports.sort() };
}

function policyOf(kind: BundleKind): ImportPolicy {
  if (kind === 'trusted') return { isRestricted: false };
  const builtins = kind === 'script';
  const allowed = `allowed: #sdk, files of its own folder (or of ../_shared), ${builtins ? 'node: built-ins, ' : ''}packages ${AUTHOR_PACKAGES.join(', ')}`;
  return {
    isRestricted: true,
    allows: (specifier) =>
      specifier === '#sdk' ||
      (builtins && isBuiltin(specifier)) ||
      AUTHOR_PACKAGES.some((name) => specifier === name || specifier.startsWith(`${name}/`)),
    allowed,
  };
}

function fileInputs(metafile: Metafile | undefined): string[] {
  return Object.keys(metafile?.inputs ?? {})
    .filter((input) => !/^[a-z-]{2,}:/.test(input))
    .map((input) => path.resolve(REPOSITORY, input));
}

function describeFailure(error: unknown, folder: string): string {
  const messages = (error as { errors?: readonly Message[] }).errors;
  if (messages === undefined || messages.length === 0) return String(error);
  return messages
    .map((message) => {
      const { location } = message;
      if (location === null) return message.text;
      const file = location.file.startsWith('entry:')
        ? path.join(folder, location.file.slice('entry:'.length))
        : path.resolve(REPOSITORY, location.file);
      return `${file}:${location.line}: ${message.text}`;
    })
    .join('\n');
}

async function readCache(cacheFile: string, outDir: string): Promise<Bundle | undefined> {
  try {
    const entry = JSON.parse(await readFile(cacheFile, 'utf8')) as CacheEntry;
    const outPath = path.join(outDir, `${entry.sha256}.mjs`);
    const files = Object.keys(entry.inputs);
    const now = await hashFiles([...files, outPath]);
    const isFresh = now[outPath] === entry.sha256 && files.every((file) => now[file] === entry.inputs[file]);
    return isFresh ? { path: outPath, sha256: entry.sha256, exports: entry.exports } : undefined;
  } catch {
    return undefined;
  }
}

async function hashFiles(files: readonly string[]): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const file of files) hashes[file] = sha256Of(await readFile(file));
  return hashes;
}

async function writeAtomically(file: string, content: Uint8Array | string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  await writeFile(temporary, content);
  await rename(temporary, file);
}

function sha256Of(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}
