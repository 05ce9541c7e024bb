import path from 'node:path';
import * as z from 'zod';
import type { RepositoryFile, Violation } from './source-tree.ts';

/** What may lie at the root beside dotfiles (architecture, section 2). */
export const rootFiles = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'cdk.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
];
export const rootFolders = ['infra', 'lambdas', 'state-machines', 'tasks', 'agents', 'images', 'test'];

/** Names at the root that are not agreed, and agreed ones that are missing. */
export function checkRoot(files: readonly string[]): string[] {
  const present = new Set(files.map((file) => file.split('/')[0] ?? ''));
  const agreed = [...rootFiles, ...rootFolders];
  const extra = [...present].filter((name) => !name.startsWith('.') && !agreed.includes(name));
  const missing = [...rootFiles, ...rootFolders].filter((name) => !present.has(name));
  return [...extra.map((name) => `${name} may not lie at the root`), ...missing.map((name) => `${name} is missing`)];
}

const manifestSchema = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
});

/** Dependencies whose version is not one exact version. */
export function checkPins(manifest: string): string[] {
  const { dependencies, devDependencies, optionalDependencies } = manifestSchema.parse(JSON.parse(manifest));
  const all = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  if (all.length === 0) throw new Error('package.json names no dependency: nothing to check');
  return all
    .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
    .map(([name, version]) => `${name}: ${version}`);
}

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      resolved: z.string().optional(),
      integrity: z.string().optional(),
      inBundle: z.boolean().optional(),
    }),
  ),
});

/** What a package brings along in its own archive is proven by that archive's hash. */
function liesInOneOf(location: string, proven: ReadonlySet<string>): boolean {
  const parent = location.slice(0, Math.max(0, location.lastIndexOf('/node_modules/')));
  return parent !== '' && (proven.has(parent) || liesInOneOf(parent, proven));
}

/** Entries of the lock file that name where they came from, or lack what proves them. */
export function checkLock(lock: string): string[] {
  const packages = Object.entries(lockSchema.parse(JSON.parse(lock)).packages).filter(([location]) => location !== '');
  if (packages.length === 0) throw new Error('package-lock.json names no package: nothing to check');
  const proven = new Set(packages.flatMap(([location, { integrity }]) => (integrity === undefined ? [] : [location])));
  return packages.flatMap(([location, entry]) => [
    ...(entry.resolved === undefined ? [] : [`${location} has resolved: ${entry.resolved}`]),
    ...(proven.has(location) || (entry.inBundle === true && liesInOneOf(location, proven))
      ? []
      : [`${location} has no integrity`]),
  ]);
}

function violationsByLine(
  { path: file, text }: RepositoryFile,
  patterns: readonly { isFound: RegExp; message: string }[],
): Violation[] {
  return text.split('\n').flatMap((line, index) =>
    patterns.flatMap(({ isFound, message }) => {
      const found = isFound.exec(line);
      return found ? [{ file, line: index + 1, message: `"${found[0].trim()}" ${message}` }] : [];
    }),
  );
}

/** Accounts that upstream's images and our guest have, and nobody in particular; any other home is somebody's machine. */
const knownHomes = ['me', 'user', 'agent', 'cua', 'ubuntu', 'kasm-user', 'examhall'];

const machinePatterns = [
  {
    isFound: new RegExp(`/home/(?!(?:${knownHomes.join('|')})[^a-z])[a-z][\\w-]*`),
    message: 'is a home on one machine',
  },
  { isFound: /\/Users\/[A-Za-z][\w.-]*\//, message: 'is a home on one machine' },
  {
    isFound: /https?:\/\/[^/\s"'`]*(?:registry|artifactory|nexus|verdaccio|proxy|mirror)[^/\s"'`]*/,
    message: 'is a package registry; it belongs in the settings of a machine',
  },
];

/** Traces of the machine a file was written on: homes, registries, and the checkout's own folder. */
export function checkMachineTraces(file: RepositoryFile, checkout: string): Violation[] {
  const isTelling = checkout.split('/').filter((part) => part !== '').length >= 2;
  const escaped = checkout.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const own = { isFound: new RegExp(`${escaped}(?![\\w-])`), message: 'is where this checkout lies' };
  return violationsByLine(file, isTelling ? [...machinePatterns, own] : machinePatterns);
}

const leftovers = ['TODO', 'FIXME', 'XXX', 'HACK'];

const leftoverPatterns = [
  { isFound: new RegExp(String.raw`\b(?:${leftovers.join('|')})\b`), message: 'is left over; do it or open an issue' },
  { isFound: /\bnot[ -]?(?:yet )?implemented\b/i, message: 'is left over; implement it or refuse it by name' },
  { isFound: /^(?:<{7}|>{7}) /, message: 'is a merge conflict' },
];

export function checkLeftovers(file: RepositoryFile): Violation[] {
  return violationsByLine(file, leftoverPatterns);
}

/** Tests that no step of `npm test` would run. */
export function checkTestPlace(file: string, folders: readonly string[]): Violation[] {
  if (!/\.(?:test|spec)\.[cm]?[jt]sx?$/.test(file)) return [];
  const isCollected = file.endsWith('.test.ts') && folders.some((folder) => file.startsWith(`${folder}/`));
  return isCollected
    ? []
    : [{ file, line: 1, message: `is run by no check; tests are ${folders.join(', ')}/**/*.test.ts` }];
}

/** A heading's anchor, as the common renderers make it. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

function withoutCode(text: string): string {
  return text
    .replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1\s*$/gm, (block) => block.replace(/[^\n]/g, ''))
    .replace(/`[^`\n]*`/g, (code) => ' '.repeat(code.length));
}

function anchorsIn(text: string): string[] {
  const fenceless = text.replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1\s*$/gm, '');
  return [...fenceless.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)].map((match) => anchorOf(match[1] ?? ''));
}

/** Links of a Markdown file that lead to no file, folder or heading. Links out of the repository are not followed. */
export function checkLinks(file: RepositoryFile, readText: (target: string) => string | undefined): Violation[] {
  return withoutCode(file.text)
    .split('\n')
    .flatMap((line, index) => {
      const links = [
        ...line.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g),
        ...line.matchAll(/^\s*\[[^\]]+\]:\s+(\S+)/g),
      ];
      return links.flatMap((match) => {
        const problem = linkProblem(file, match[1] ?? '', readText);
        return problem === undefined ? [] : [{ file: file.path, line: index + 1, message: problem }];
      });
    });
}

function linkProblem(
  file: RepositoryFile,
  link: string,
  readText: (target: string) => string | undefined,
): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return undefined;
  const [target = '', anchor] = link.split('#');
  const place = target === '' ? file.path : path.posix.join(path.posix.dirname(file.path), decodeURIComponent(target));
  const text = place.startsWith('../') ? undefined : readText(place.replace(/\/$/, ''));
  if (text === undefined) return `links to ${link}, which does not exist`;
  if (anchor === undefined || !place.endsWith('.md') || anchorsIn(text).includes(anchor)) return undefined;
  return `links to ${link}, which is no heading there`;
}
