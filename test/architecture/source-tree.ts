import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/** One file of the repository, its path relative to the root with forward slashes. */
export interface RepositoryFile {
  path: string;
  text: string;
}

export interface CodeFile extends RepositoryFile {
  ast: ts.SourceFile;
}

export interface Violation {
  file: string;
  line: number;
  message: string;
}

const unversioned = ['node_modules', '.git', '.cache', '.examhall', '.logs', 'cdk.out', 'coverage'];

/** Data that a task hands to an agent or a grader; it is input, not source of ours. */
const taskData = /^tasks\/[^/]+\/[^/]+\/(?:input|software|reference|solution|wrong)\//;

function walk(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (unversioned.includes(entry.name)) return [];
    const inner = folder === '' ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? walk(inner) : [inner];
  });
}

/** Every file that is or would be committed; outside a git checkout, every file that is not generated. */
export function listRepository(): string[] {
  const args = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const result = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const names = result.status === 0 ? result.stdout.split('\0').filter((name) => name !== '') : walk('');
  return [...new Set(names)]
    .filter((name) => statSync(path.join(root, name), { throwIfNoEntry: false })?.isFile())
    .sort();
}

/** Parses a piece of source; also the way rules are tried on fixtures. */
export function parseCode(file: string, text: string): CodeFile {
  return { path: file, text, ast: ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true) };
}

export function readRepositoryFile(file: string): RepositoryFile {
  return { path: file, text: readFileSync(path.join(root, file), 'utf8') };
}

const allFiles = listRepository();

/** Repository files whose path passes; never an empty list, so that a rule cannot pass for want of anything to look at. */
export function filesMatching(what: string, isWanted: (file: string) => boolean): RepositoryFile[] {
  const found = allFiles.filter(isWanted);
  if (found.length === 0) throw new Error(`no file is ${what}: this rule has nothing to check`);
  return found.map(readRepositoryFile);
}

/** Our own TypeScript: everything but task data. */
export function codeFiles(): CodeFile[] {
  return filesMatching('TypeScript source', (file) => file.endsWith('.ts') && !taskData.test(file)).map(
    ({ path, text }) => parseCode(path, text),
  );
}

export function lineOf(file: CodeFile, node: ts.Node): number {
  return file.ast.getLineAndCharacterOfPosition(node.getStart(file.ast)).line + 1;
}

/** Every node of a file, in source order. */
export function nodesOf(file: CodeFile): readonly ts.Node[] {
  const known = nodesByFile.get(file.ast);
  if (known) return known;
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(file.ast);
  nodesByFile.set(file.ast, nodes);
  return nodes;
}

const nodesByFile = new WeakMap<ts.SourceFile, ts.Node[]>();

/** Runs a rule over files and gives readable lines; `[]` is the expectation. */
export function violationsIn<File extends RepositoryFile>(
  files: readonly File[],
  rule: (file: File) => readonly Violation[],
): string[] {
  return files.flatMap((file) => rule(file)).map(({ file, line, message }) => `${file}:${line} ${message}`);
}
