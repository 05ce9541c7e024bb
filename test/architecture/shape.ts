import ts from 'typescript';
import { lineOf, nodesOf, type CodeFile, type RepositoryFile, type Violation } from './source-tree.ts';

const fileLimits: readonly { what: string; isKind: RegExp; lines: number }[] = [
  { what: 'a handler', isKind: /^lambdas\/[^/]+\/handler\.ts$/, lines: 60 },
  { what: 'a state machine', isKind: /\.asl\.json$/, lines: 700 },
  { what: 'a source file', isKind: /\.(?:ts|mjs|cjs)$/, lines: 300 },
];

const functionLines = 50;
const constructorLines = 80;

export function hasSizeLimit(file: string): boolean {
  return fileLimits.some((limit) => limit.isKind.test(file));
}

export function countLines(text: string): number {
  return text === '' ? 0 : text.replace(/\n$/, '').split('\n').length;
}

export function checkFileSize({ path, text }: RepositoryFile): Violation[] {
  const limit = fileLimits.find(({ isKind }) => isKind.test(path));
  const lines = countLines(text);
  if (!limit || lines <= limit.lines) return [];
  return [
    { file: path, line: lines, message: `has ${lines} lines; ${limit.what} has at most ${limit.lines}: split it` },
  ];
}

/** The name at the root of `describe`, `describe.each(...)`, `tier('x')`. */
function rootName(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) || ts.isTaggedTemplateExpression(node)
    ? rootName(ts.isTaggedTemplateExpression(node) ? node.tag : node.expression)
    : undefined;
}

const isSuite = (call: ts.Node): boolean =>
  ts.isCallExpression(call) && ['describe', 'tier', 'it', 'test'].includes(rootName(call.expression) ?? '');

/** In tests, a function that lists suites or cases is a table of contents, not a long function. */
function listsTests(node: ts.FunctionLikeDeclaration): boolean {
  const { body } = node;
  return (
    body !== undefined &&
    ts.isBlock(body) &&
    body.statements.some((statement) => ts.isExpressionStatement(statement) && isSuite(statement.expression))
  );
}

export function checkFunctionSize(file: CodeFile): Violation[] {
  const isTest = file.path.startsWith('test/');
  return nodesOf(file).flatMap((node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return [];
    if (isTest && listsTests(node)) return [];
    const start = lineOf(file, node);
    const lines = file.ast.getLineAndCharacterOfPosition(node.end).line + 2 - start;
    const limit = ts.isConstructorDeclaration(node) ? constructorLines : functionLines;
    if (lines <= limit) return [];
    const name = node.name && ts.isIdentifier(node.name) ? node.name.text : 'a function';
    return [{ file: file.path, line: start, message: `${name} has ${lines} lines; the limit is ${limit}: split it` }];
  });
}
