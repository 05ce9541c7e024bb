import ts from 'typescript';
import { lineOf, nodesOf, type CodeFile, type Violation } from './source-tree.ts';

const runners = ['describe', 'it', 'test', 'suite', 'bench'];
const narrowing = ['only', 'skip', 'skipIf', 'runIf', 'todo', 'fails'];
const contexts = ['context', 'ctx'];
const shortcuts = ['xit', 'xtest', 'xdescribe', 'fit', 'fdescribe'];

function rootName(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) || ts.isCallExpression(node) ? rootName(node.expression) : undefined;
}

function problemOf(node: ts.Node): string | undefined {
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && shortcuts.includes(node.expression.text)) {
    return `${node.expression.text} leaves tests out`;
  }
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const name = node.name.text;
  const owner = rootName(node.expression) ?? '';
  if (runners.includes(owner) && narrowing.includes(name)) {
    return `.${name} leaves tests out; a test that needs more than Node asks for a tier (test/runner/tier.ts)`;
  }
  if (contexts.includes(owner) && name === 'skip')
    return 'a test that skips itself passes for want of trying; ask for a tier';
  if (owner === 'vi' && ['mock', 'doMock', 'hoisted'].includes(name))
    return `vi.${name} replaces a module; pass a fake port instead`;
  return undefined;
}

/** Tests that would leave out, or replace, what they are there to check. */
export function checkTestHygiene(file: CodeFile): Violation[] {
  return nodesOf(file).flatMap((node) => {
    const message = problemOf(node);
    return message === undefined ? [] : [{ file: file.path, line: lineOf(file, node), message }];
  });
}
