import ts from 'typescript';
import { lineOf, nodesOf, type CodeFile, type Violation } from './source-tree.ts';

const timers = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'];
const network = ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'];
const host = ['process', 'console', 'require', 'globalThis'];

/** Names from outside that make a result depend on more than the arguments. */
export const impureGlobals = [...timers, ...network, ...host, 'crypto', 'performance'];

/** Names from outside through which a grader could reach a network or its host. */
export const outwardGlobals = [...network, ...host];

function declaredNames(file: CodeFile): Set<string> {
  const names = new Set<string>();
  for (const node of nodesOf(file)) {
    const isDeclaration =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isImportSpecifier(node);
    if (isDeclaration && node.name && ts.isIdentifier(node.name)) names.add(node.name.text);
  }
  return names;
}

/** True for an identifier that is a value in its own right: not a property, key, label or type. */
function isFreeValue(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isTypeNode(parent) || ts.isQualifiedName(parent) || ts.isImportSpecifier(parent)) return false;
  const isNamed = 'name' in parent && parent.name === node;
  const isKey = ts.isBindingElement(parent) && parent.propertyName === node;
  return !isNamed && !isKey;
}

function clockOrChance(node: ts.Node): string | undefined {
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
    const isDate = ts.isIdentifier(node.expression) && node.expression.text === 'Date';
    if (isDate && (ts.isCallExpression(node) || (node.arguments ?? []).length === 0))
      return 'new Date() reads the clock';
  }
  if (!ts.isPropertyAccessExpression(node) || !ts.isIdentifier(node.expression)) return undefined;
  const name = `${node.expression.text}.${node.name.text}`;
  return { 'Date.now': 'Date.now reads the clock', 'Math.random': 'Math.random is chance' }[name];
}

/** Uses of the clock, of chance and of the named globals; take such things as an argument instead. */
export function checkPurity(file: CodeFile, globals: readonly string[] = impureGlobals): Violation[] {
  const own = declaredNames(file);
  return nodesOf(file).flatMap((node) => {
    const isGlobal = ts.isIdentifier(node) && globals.includes(node.text) && !own.has(node.text) && isFreeValue(node);
    const why = isGlobal ? `${node.text} reaches outside` : clockOrChance(node);
    return why === undefined
      ? []
      : [{ file: file.path, line: lineOf(file, node), message: `${why}; pass it in as an argument` }];
  });
}
