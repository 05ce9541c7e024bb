import ts from 'typescript';
import { lineOf, nodesOf, type CodeFile, type Violation } from './source-tree.ts';

function unwrap(node: ts.Expression): ts.Expression {
  return ts.isParenthesizedExpression(node) ? unwrap(node.expression) : node;
}

function isThroughUnknown(node: ts.AsExpression): boolean {
  const inner = unwrap(node.expression);
  return ts.isAsExpression(inner) && inner.type.kind === ts.SyntaxKind.UnknownKeyword;
}

function nodeProblem(node: ts.Node): string | undefined {
  if (node.kind === ts.SyntaxKind.AnyKeyword) return '`any` turns checking off; use `unknown` and parse it';
  if (ts.isNonNullExpression(node)) return '`!` hides a missing value; handle it';
  if (ts.isAsExpression(node) && isThroughUnknown(node))
    return '`as unknown as` is a cast around the checker; parse the value';
  if (ts.isEnumDeclaration(node)) return 'an enum; use a union of literals';
  if (ts.isModuleDeclaration(node) && ts.isIdentifier(node.name) && node.name.text !== 'global')
    return 'a namespace; use a module';
  return undefined;
}

function lineProblem(text: string): string | undefined {
  if (/@ts-(?:ignore|nocheck)\b/.test(text))
    return '@ts-ignore hides an error; @ts-expect-error with a reason shows when it is gone';
  if (/eslint-disable/.test(text) && !/eslint-disable[^\n]* -- \S/.test(text))
    return 'eslint-disable without ` -- reason`';
  return undefined;
}

/** Ways around the type checker and the linter. */
export function checkTypeSafety(file: CodeFile): Violation[] {
  const inNodes = nodesOf(file).flatMap((node) => {
    const message = nodeProblem(node);
    return message === undefined ? [] : [{ file: file.path, line: lineOf(file, node), message }];
  });
  const isWorthScanning = /@ts-|eslint-disable/.test(file.text);
  const inComments = (isWorthScanning ? commentsOf(file) : []).flatMap(({ line, text }) => {
    const message = lineProblem(text);
    return message === undefined ? [] : [{ file: file.path, line, message }];
  });
  return [...inNodes, ...inComments];
}

function tokensOf(node: ts.Node, ast: ts.SourceFile): ts.Node[] {
  const children = node.getChildren(ast);
  return children.length === 0 ? [node] : children.flatMap((child) => tokensOf(child, ast));
}

/** Every comment, found between tokens, so that a string that looks like one is not taken for one. */
export function commentsOf({ ast, text }: CodeFile): { line: number; text: string }[] {
  const found = new Map<number, string>();
  for (const token of tokensOf(ast, ast)) {
    const before = ts.getLeadingCommentRanges(text, token.getFullStart()) ?? [];
    const after = ts.getTrailingCommentRanges(text, token.end) ?? [];
    for (const { pos, end } of [...before, ...after]) found.set(pos, text.slice(pos, end));
  }
  return [...found].map(([pos, comment]) => ({ line: ast.getLineAndCharacterOfPosition(pos).line + 1, text: comment }));
}

/** Default exports outside the files whose tools ask for one. */
export function checkDefaultExport(file: CodeFile): Violation[] {
  if (/\.config\.ts$/.test(file.path) || /^(?:tasks|agents)\//.test(file.path)) return [];
  return file.ast.statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    const isDefault =
      ts.isExportAssignment(statement) || modifiers.some((one) => one.kind === ts.SyntaxKind.DefaultKeyword);
    return isDefault ? [{ file: file.path, line: lineOf(file, statement), message: 'a default export; name it' }] : [];
  });
}
