import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build, type BuildOptions, type BuildResult, type Message } from 'esbuild';
import packageJson from '../package.json' with { type: 'json' };
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { FUNCTIONS } from '#contracts/functions';
import { bootFiles, guestPrograms, packBootArchive } from './bundler-boot-files.ts';
import { BundleError, REPOSITORY } from './bundler.ts';

/**
 * A function as it is deployed: a folder with `index.mjs`, `child-entry.mjs` where it runs published modules, and
 * `boot.tar.gz`, `runner.mjs` and `cua-desktop.mjs` where it launches sandboxes.
 */
export interface FunctionBundle {
  readonly name: string;
  readonly folder: string;
  /** Of `index.mjs`. */
  readonly sizeBytes: number;
  /** Source files in `index.mjs`, relative to the repository, sorted. */
  readonly sources: readonly string[];
}

/** File of a function's folder that its module runner starts children with. */
const CHILD_ENTRY = 'child-entry';
/** File of a function's folder that sandboxes are sent, by way of the tasks bucket. */
const BOOT_ARCHIVE = 'boot.tar.gz';
const CHILD_SOURCE = 'lambdas/shared/adapters/child-entry.ts';

/** Packages made for CommonJS ask for Node's own modules by `require`. */
const BANNER = `import{createRequire as __examhallRequire}from'node:module';const require=__examhallRequire(import.meta.url);`;

/**
 * Bundles every declared function, each into a folder of its own below `outDir`, which is emptied first. The same sources
 * give the same bytes, wherever the repository lies.
 * `make` is esbuild's, called once. @throws BundleError with one line per problem.
 */
export async function bundleFunctions(
  outDir: string,
  make: typeof build = build,
): Promise<ReadonlyMap<string, FunctionBundle>> {
  const result = await bundleAll(outDir, make);
  await rm(outDir, { recursive: true, force: true });
  const bundles = new Map<string, FunctionBundle>();
  for (const declaration of FUNCTIONS) bundles.set(declaration.name, await writeBundle(declaration, outDir, result));
  await writeGuestFiles(bundles);
  return bundles;
}

type Built = BuildResult<{ write: false; metafile: true }>;

async function bundleAll(outDir: string, make: typeof build): Promise<Built> {
  const options = {
    entryPoints: [
      ...FUNCTIONS.map(({ name, entry }) => ({ in: entry, out: `${name}/index` })),
      { in: CHILD_SOURCE, out: CHILD_ENTRY },
    ],
    absWorkingDir: REPOSITORY,
    bundle: true,
    write: false,
    metafile: true,
    outdir: outDir,
    outExtension: { '.js': '.mjs' },
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    charset: 'utf8',
    legalComments: 'none',
    sourcemap: false,
    logLevel: 'silent',
    // Which build of a package is taken must not hang on the machine's own settings.
    tsconfigRaw: { compilerOptions: { target: 'ES2022', verbatimModuleSyntax: true } },
    define: { 'process.env.NODE_ENV': '"production"', EXAMHALL_VERSION: JSON.stringify(packageJson.version) },
    banner: { js: BANNER },
  } as const satisfies BuildOptions;
  return await make<typeof options>({ ...options, entryPoints: [...options.entryPoints] }).catch((error: unknown) => {
    throw new BundleError(describeFailure(error));
  });
}

async function writeBundle(declaration: FunctionDeclaration, outDir: string, result: Built): Promise<FunctionBundle> {
  const { name, needs } = declaration;
  const folder = path.join(outDir, name);
  await mkdir(folder, { recursive: true });
  const index = outputOf(result, path.join(folder, 'index.mjs'));
  await writeFile(path.join(folder, 'index.mjs'), index.contents);
  if (needs.some(({ port }) => port === 'modules')) {
    const { contents } = outputOf(result, path.join(outDir, `${CHILD_ENTRY}.mjs`));
    await writeFile(path.join(folder, `${CHILD_ENTRY}.mjs`), contents);
  }
  return { name, folder, sizeBytes: index.contents.byteLength, sources: index.sources };
}

/** Beside each function that launches: what sandboxes fetch at their first boot, and what it brings to given machines itself. */
async function writeGuestFiles(bundles: ReadonlyMap<string, FunctionBundle>): Promise<void> {
  const cacheDir = await mkdtemp(path.join(tmpdir(), 'examhall-boot-'));
  try {
    const programs = await guestPrograms(cacheDir);
    const archive = { path: BOOT_ARCHIVE, content: packBootArchive(await bootFiles(cacheDir)) };
    for (const { name, needs } of FUNCTIONS) {
      const launches = needs.some((need) => need.port === 'sandboxes' && need.access === 'launch');
      const folder = bundles.get(name)?.folder;
      if (!launches || folder === undefined) continue;
      for (const file of [archive, ...programs]) await writeFile(path.join(folder, file.path), file.content);
    }
  } finally {
    await rm(cacheDir, { recursive: true, force: true });
  }
}

function outputOf(
  { outputFiles, metafile }: Built,
  file: string,
): { readonly contents: Uint8Array; readonly sources: readonly string[] } {
  const output = outputFiles.find((each) => path.resolve(each.path) === path.resolve(file));
  const [, facts] =
    Object.entries(metafile.outputs).find(([name]) => path.resolve(REPOSITORY, name) === path.resolve(file)) ?? [];
  if (output === undefined || facts === undefined) throw new BundleError(`the bundler wrote no ${file}`);
  return { contents: output.contents, sources: Object.keys(facts.inputs).sort() };
}

function describeFailure(error: unknown): string {
  const messages = (error as { errors?: readonly Message[] }).errors ?? [];
  if (messages.length === 0) return String(error);
  return messages
    .map(({ location, text }) => (location === null ? text : `${location.file}:${String(location.line)}: ${text}`))
    .join('\n');
}
