import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import * as z from 'zod';
import { lineOf, nodesOf, root, type CodeFile } from './source-tree.ts';

/** One import, re-export, `import()` or `require` of a file. */
export interface Import {
  specifier: string;
  line: number;
  isTypeOnly: boolean;
  isDynamic: boolean;
}

export type Target =
  | { kind: 'file'; path: string }
  | { kind: 'builtin'; name: string }
  | { kind: 'package'; name: string }
  | { kind: 'unresolved'; specifier: string };

function hasOnlyTypes(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(node)) {
    const names = node.exportClause && ts.isNamedExports(node.exportClause) ? node.exportClause.elements : [];
    return node.isTypeOnly || (names.length > 0 && names.every((name) => name.isTypeOnly));
  }
  const clause = node.importClause;
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  if (clause.name || !clause.namedBindings || !ts.isNamedImports(clause.namedBindings)) return false;
  const names = clause.namedBindings.elements;
  return names.length > 0 && names.every((name) => name.isTypeOnly);
}

function importOf(file: CodeFile, node: ts.Node): Import | undefined {
  const at = (text: ts.Node | undefined, isTypeOnly: boolean, isDynamic: boolean): Import | undefined =>
    text && ts.isStringLiteralLike(text)
      ? { specifier: text.text, line: lineOf(file, node), isTypeOnly, isDynamic }
      : undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
    return at(node.moduleSpecifier, hasOnlyTypes(node), false);
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? at(node.argument.literal, true, false) : undefined;
  if (ts.isExternalModuleReference(node)) return at(node.expression, false, false);
  if (!ts.isCallExpression(node)) return undefined;
  const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword;
  const isRequire = ts.isIdentifier(node.expression) && node.expression.text === 'require';
  return isImport || isRequire ? at(node.arguments[0], false, isImport) : undefined;
}

export function importsOf(file: CodeFile): Import[] {
  return nodesOf(file).flatMap((node) => importOf(file, node) ?? []);
}

const manifest = z
  .object({ imports: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));

function resolveAlias(specifier: string): string | undefined {
  for (const [pattern, target] of Object.entries(manifest.imports)) {
    const [before, after] = pattern.split('*');
    if (after === undefined && specifier === pattern) return path.posix.normalize(target);
    if (after !== undefined && before !== undefined && specifier.startsWith(before)) {
      return path.posix.normalize(target.replace('*', specifier.slice(before.length)));
    }
  }
  return undefined;
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Where an import leads, with package.json's `imports` applied. `isThere` says which files exist. */
export function resolveImport(
  from: string,
  specifier: string,
  isThere: (file: string) => boolean = (file) => existsSync(path.join(root, file)),
): Target {
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) {
    return { kind: 'builtin', name: specifier.replace(/^node:/, '') };
  }
  const isRelative = /^\.{1,2}(?:\/|$)/.test(specifier);
  if (!isRelative && !specifier.startsWith('#')) return { kind: 'package', name: packageName(specifier) };
  const target = isRelative ? path.posix.join(path.posix.dirname(from), specifier) : resolveAlias(specifier);
  const candidates = target === undefined ? [] : [target, `${target}.ts`, target.replace(/\.js$/, '.ts')];
  const found = candidates.find(isThere);
  return found === undefined ? { kind: 'unresolved', specifier } : { kind: 'file', path: found };
}

/** File to the files it imports, types included. */
export type ImportGraph = Map<string, string[]>;

export function buildGraph(files: readonly CodeFile[], isThere?: (file: string) => boolean): ImportGraph {
  return new Map(
    files.map((file) => {
      const targets = importsOf(file).map((found) => resolveImport(file.path, found.specifier, isThere));
      return [file.path, [...new Set(targets.flatMap((target) => (target.kind === 'file' ? target.path : [])))]];
    }),
  );
}

/** The strongly connected parts of more than one file, and files that import themselves (Tarjan). */
export function findCycles(graph: ImportGraph): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (node: string): number => {
    const index = order.size;
    order.set(node, index);
    let lowest = index;
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, order.get(next) ?? lowest);
    }
    low.set(node, lowest);
    if (lowest === index) {
      const part = stack.splice(stack.indexOf(node));
      if (part.length > 1 || graph.get(node)?.includes(node)) cycles.push(part.sort());
    }
    return lowest;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return cycles;
}

/** Every file that `start` pulls in, itself included. */
export function closureOf(graph: ImportGraph, start: string): string[] {
  const seen = new Set([start]);
  for (const file of seen) for (const next of graph.get(file) ?? []) seen.add(next);
  return [...seen];
}
