import { importsOf, resolveImport, type Import, type Target } from './import-graph.ts';
import type { CodeFile, Violation } from './source-tree.ts';

/** What one part of the house may import. Parts are named by path: `core` covers `core/cua`. */
interface Row {
  parts: readonly string[];
  /** Allowed where only types cross. */
  typesFrom?: readonly string[];
  /** Allowed behind `import()`, so that starting up does not load it; their types may be named anywhere. */
  lazily?: readonly string[];
  packages?: 'any' | readonly string[];
  /** Packages whose types alone may be named. */
  packageTypes?: readonly string[];
  builtins?: 'any' | readonly string[];
}

/** Parts of Node that neither read anything nor reach out. */
const pureBuiltins = ['assert', 'buffer', 'crypto', 'string_decoder', 'util', 'zlib'];

/** Who may import whom (architecture, section 2). Tasks, agents and functions may also import files
 * of their own folder (`ownTrees`). */
export const importTable: Record<string, Row> = {
  core: { parts: ['core'], packages: ['zod'] },
  // Bundled into the guest, where every kilobyte is loaded for each desktop: no zod.
  'core/cua': { parts: ['core/cua'] },
  // A job and its result are the guest's words, and the guest may not import core: ports name them where they are.
  ports: { parts: ['core', 'ports'], typesFrom: ['contracts/guest'] },
  contracts: { parts: ['core', 'contracts'], packages: ['zod'] },
  grading: { parts: ['core', 'grading'], packages: 'any', builtins: pureBuiltins },
  // A use case is one stage and calls no other; what several stages do alike lies below, in a folder of usecases.
  usecases: { parts: ['core', 'ports', 'contracts', 'grading', 'usecases/steps'], packageTypes: ['zod'] },
  adapters: { parts: ['core', 'ports', 'contracts', 'adapters'], packages: 'any', builtins: 'any' },
  // Arithmetic over bytes: what authors see screenshots with.
  'adapters/png': { parts: ['core'], builtins: pureBuiltins },
  // Scratch folders and transfers, which every host has alike.
  'adapters/scratch': { parts: ['core', 'ports', 'contracts', 'adapters/scratch'], builtins: 'any' },
  'adapters/cua': { parts: ['core/cua', 'adapters/cua'], builtins: 'any' },
  runtime: {
    parts: ['core', 'ports', 'usecases', 'adapters', 'grading', 'contracts', 'runtime', 'sdk'],
    packages: 'any',
    builtins: 'any',
  },
  sdk: { parts: ['core', 'ports', 'contracts', 'grading', 'adapters/png'] },
  function: { parts: ['runtime', 'usecases', 'contracts'] },
  tasks: { parts: ['sdk'] },
  agents: { parts: ['sdk'] },
  // Runs inside the sandbox as a program of its own.
  script: { parts: ['sdk', 'script'], builtins: 'any' },
  guest: { parts: ['guest', 'core/cua', 'contracts/guest', 'adapters/cua', 'adapters/png'], builtins: 'any' },
  // Each bridge is a file of its own, so that the SDK weighs on no job.
  bridge: {
    parts: ['bridge', 'guest', 'core/cua', 'adapters/cua'],
    packages: ['@modelcontextprotocol/sdk', 'zod'],
    builtins: 'any',
  },
  image: { parts: [], builtins: 'any' },
  bundler: { parts: ['bundler', 'contracts', 'package.json'], packages: ['esbuild'], builtins: 'any' },
  cdk: {
    parts: ['core', 'contracts', 'cdk', 'bundler'],
    packages: ['aws-cdk-lib', 'constructs', 'cdk-nag', 'zod'],
    builtins: 'any',
  },
  local: {
    parts: [
      'core',
      'ports',
      'contracts',
      'runtime',
      'local',
      'bundler',
      'package.json',
      'adapters/cua',
      'adapters/png',
      'adapters/scratch',
    ],
    packages: 'any',
    builtins: 'any',
  },
  cli: {
    parts: ['core', 'contracts', 'cli', 'package.json'],
    lazily: ['adapters', 'local', 'bundler', 'cdk'],
    packages: 'any',
    builtins: 'any',
  },
  test: { parts: ['*'], packages: 'any', builtins: 'any' },
  // Written from the services' own models: what it shared with the adapters, it could not show to be wrong.
  'test/stand-in': { parts: ['test', 'local', 'bundler'], packages: 'any', builtins: 'any' },
};

const sharedFolders = ['core', 'ports', 'usecases', 'adapters', 'grading', 'contracts', 'runtime'];

/** Runs as a program of its own: `solution.ts`, `launch-<part>.ts`, everything of `services/` and the like. */
const scriptFile =
  /^(?:tasks\/.*\/(?:services\/[^/]+|(?:solution|generate)(?:-[a-z-]+)?)|agents\/.*\/(?:launch|install)(?:-[a-z-]+)?)\.ts$/;

/** The part a file belongs to, or undefined where the house has no room for it. */
export function partOf(file: string): string | undefined {
  if (file === 'package.json') return file;
  const [top, second = '', third = ''] = file.split('/');
  if (scriptFile.test(file)) return 'script';
  if (file.startsWith('test/emulators/cloud/')) return 'test/stand-in';
  if (top === 'test' || top === 'tasks' || top === 'agents') return top;
  if (/^images\/guest\/(?:cua-desktop|vm-primitives|mcp)[.-]/.test(file)) return 'bridge';
  if (top === 'images') return second === 'guest' ? 'guest' : 'image';
  if (top === 'infra') {
    if (second === 'local' || second === 'cli') return second;
    if (/^bundler[.-]/.test(second)) return 'bundler';
    return second === 'app.ts' || ['stacks', 'constructs', 'config'].includes(second) ? 'cdk' : undefined;
  }
  if (top !== 'lambdas') return undefined;
  if (second !== 'shared') return third === '' ? undefined : 'function';
  if (third === 'sdk.ts') return 'sdk';
  if (!sharedFolders.includes(third)) return undefined;
  if (/^lambdas\/shared\/core\/cua[./-]/.test(file)) return 'core/cua';
  if (/^lambdas\/shared\/contracts\/guest[./-]/.test(file)) return 'contracts/guest';
  if (/^lambdas\/shared\/adapters\/cua-(?:client|desktop)[.-]/.test(file)) return 'adapters/cua';
  if (/^lambdas\/shared\/adapters\/scratch-/.test(file)) return 'adapters/scratch';
  if (/^lambdas\/shared\/adapters\/png-pixels[.-]/.test(file)) return 'adapters/png';
  if (third === 'usecases' && file.split('/').length > 4) return 'usecases/steps';
  return third;
}

/** The folders whose files belong together: one task, agent or function, and `_shared` beside it. */
function ownTrees(file: string): string[] {
  const depth = { tasks: 3, agents: 2, function: 2, image: 2, script: file.startsWith('tasks/') ? 3 : 2 }[
    partOf(file) ?? ''
  ];
  if (depth === undefined) return [];
  const folders = file.split('/').slice(0, depth);
  return [`${folders.join('/')}/`, `${folders.slice(0, -1).join('/')}/_shared/`];
}

const covers = (allowed: readonly string[], part: string): boolean =>
  allowed.some((name) => name === '*' || part === name || part.startsWith(`${name}/`));

function isFileAllowed(from: string, row: Row, found: Import, target: string): boolean {
  if (ownTrees(from).some((tree) => target.startsWith(tree))) return true;
  const part = partOf(target) ?? 'nowhere';
  if (covers(row.parts, part)) return true;
  if (found.isTypeOnly && covers([...(row.typesFrom ?? []), ...(row.lazily ?? [])], part)) return true;
  return found.isDynamic && covers(row.lazily ?? [], part);
}

function isAllowed(from: string, row: Row, found: Import, target: Target): boolean {
  if (target.kind === 'unresolved') return false;
  if (target.kind === 'file') return isFileAllowed(from, row, found, target.path);
  if (target.kind === 'package' && found.isTypeOnly && row.packageTypes?.includes(target.name)) return true;
  const list = target.kind === 'package' ? row.packages : row.builtins;
  return list === 'any' || (list ?? []).includes(target.name);
}

function describeRow(row: Row): string {
  const list = (names: Row['packages']): string => (names === 'any' ? 'any' : (names ?? []).join(', ') || 'none');
  const lazily = row.lazily ? `; behind import(): ${row.lazily.join(', ')}` : '';
  const types = row.typesFrom ? `; types of: ${row.typesFrom.join(', ')}` : '';
  return `${row.parts.join(', ') || 'nothing'}${types}${lazily}; packages: ${list(row.packages)}; node: ${list(row.builtins)}`;
}

/** Every import of a file that the table does not allow. */
export function checkImports(file: CodeFile, isThere?: (path: string) => boolean): Violation[] {
  const part = partOf(file.path);
  const row = importTable[part ?? ''] ?? importTable[part?.split('/')[0] ?? ''];
  if (part === undefined || row === undefined) {
    return [{ file: file.path, line: 1, message: 'lies in no part of the house (architecture, section 2)' }];
  }
  return importsOf(file).flatMap((found) => {
    const target = resolveImport(file.path, found.specifier, isThere);
    if (isAllowed(file.path, row, found, target)) return [];
    const why =
      target.kind === 'unresolved' ? 'leads to no file' : `is not allowed: ${part} may import ${describeRow(row)}`;
    return [{ file: file.path, line: found.line, message: `"${found.specifier}" ${why}` }];
  });
}
