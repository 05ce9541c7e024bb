import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Loader, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild';

/** What may be imported besides relative files. */
export type ImportPolicy =
  | { readonly isRestricted: false }
  | { readonly isRestricted: true; readonly allows: (specifier: string) => boolean; readonly allowed: string };

export interface SourcePluginOptions {
  /** Real path of the entry's folder. */
  readonly folder: string;
  /** Real path of the folder whose files may be imported, with those of `_shared` beside it. */
  readonly root: string;
  readonly repository: string;
  readonly policy: ImportPolicy;
  /** Told of every file read on the way. */
  readonly onFile: (file: string) => void;
}

const LOADERS: Readonly<Record<string, Loader>> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.js': 'js',
  '.mjs': 'js',
  '.json': 'json',
  '.txt': 'text',
};

/**
 * esbuild plugin with two duties: files beside the entry get names relative to it, so that the output does not
 * tell where the folder lies; and everything else is resolved from the repository, under the import policy.
 */
export function sourcePlugin(options: SourcePluginOptions): Plugin {
  return {
    name: 'examhall-sources',
    setup(pluginBuild) {
      pluginBuild.onResolve({ filter: /.*/ }, async (args) => {
        if (isOwnResolve(args)) return undefined;
        if (args.kind === 'entry-point') return { path: path.basename(args.path), namespace: 'entry' };
        if (args.namespace !== 'entry') return undefined;
        return args.path.startsWith('.')
          ? resolveRelative(pluginBuild, args, options)
          : resolvePackage(pluginBuild, args, options);
      });
      pluginBuild.onLoad({ filter: /.*/, namespace: 'entry' }, async (args) => {
        const file = path.join(options.folder, args.path);
        options.onFile(file);
        const loader = LOADERS[path.extname(file)];
        if (loader === undefined) {
          return { errors: [{ text: `cannot import ${args.path}; allowed: ${Object.keys(LOADERS).join(' ')} files` }] };
        }
        return { contents: await readFile(file), loader, resolveDir: path.dirname(file) };
      });
    },
  };
}

async function resolveRelative(
  pluginBuild: PluginBuild,
  args: OnResolveArgs,
  options: SourcePluginOptions,
): Promise<OnResolveResult> {
  const found = await resolveWithin(pluginBuild, args, args.resolveDir);
  if (found.errors !== undefined || found.path === undefined) return found;
  const shared = path.join(path.dirname(options.root), '_shared');
  if (options.policy.isRestricted && !isBelow(options.root, found.path) && !isBelow(shared, found.path)) {
    return refuse(args, options.policy.allowed);
  }
  return isBelow(options.repository, found.path) && !options.policy.isRestricted
    ? found
    : { path: path.relative(options.folder, found.path).split(path.sep).join('/'), namespace: 'entry' };
}

async function resolvePackage(
  pluginBuild: PluginBuild,
  args: OnResolveArgs,
  options: SourcePluginOptions,
): Promise<OnResolveResult> {
  const { policy } = options;
  if (policy.isRestricted && !policy.allows(args.path)) return refuse(args, policy.allowed);
  return resolveWithin(pluginBuild, args, options.repository);
}

async function resolveWithin(pluginBuild: PluginBuild, args: OnResolveArgs, folder: string): Promise<OnResolveResult> {
  const found = await pluginBuild.resolve(args.path, {
    kind: args.kind,
    resolveDir: folder,
    importer: args.importer,
    namespace: 'file',
    pluginData: OWN_RESOLVE,
  });
  if (found.errors.length > 0) return { errors: found.errors.map(({ text }) => ({ text })) };
  return { path: found.path, external: found.external, sideEffects: found.sideEffects, namespace: found.namespace };
}

function refuse(args: OnResolveArgs, allowed: string): OnResolveResult {
  return { errors: [{ text: `imports "${args.path}"; ${allowed}` }] };
}

const OWN_RESOLVE = Symbol('resolved by this plugin');

function isOwnResolve(args: OnResolveArgs): boolean {
  return args.pluginData === OWN_RESOLVE;
}

function isBelow(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative);
}
