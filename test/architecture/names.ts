import path from 'node:path';
import ts from 'typescript';
import { lineOf, type CodeFile, type Violation } from './source-tree.ts';

const junkDrawers = ['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'stuff', 'index'];

/** Words for which architecture 1 has one of its own, and that word. */
const synonyms: Record<string, string> = {
  vm: 'sandbox',
  vms: 'sandboxes',
  sample: 'unit',
  samples: 'units',
  scorer: 'grader',
  scorers: 'graders',
  scoring: 'grading',
};

export function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.toLowerCase());
}

function synonymIn(name: string): string | undefined {
  const word = wordsOf(name).find((one) => one in synonyms);
  return word === undefined ? undefined : `"${name}" says ${word}; our word is ${synonyms[word] ?? ''}`;
}

/** Names of a code file: kebab-case, a subject of its own, our vocabulary. */
export function checkFileName(file: string): Violation[] {
  const base = path.posix.basename(file);
  const problems: string[] = [];
  const stem = base.split('.')[0] ?? '';
  if (junkDrawers.includes(stem)) problems.push(`"${stem}" says nothing; name the file after what is in it`);
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9-]+)*$/.test(base)) problems.push('is not kebab-case');
  const isOurs = /^(?:lambdas|infra)\//.test(file);
  const synonym = isOurs ? synonymIn(stem) : undefined;
  if (synonym !== undefined) problems.push(synonym);
  return problems.map((message) => ({ file, line: 1, message }));
}

function exportedNames(file: CodeFile): { name: string; node: ts.Node }[] {
  return file.ast.statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    if (!modifiers.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)) return [];
    const named = ts.isVariableStatement(statement) ? [...statement.declarationList.declarations] : [statement];
    return named.flatMap((node) => {
      const name = ts.isDeclarationStatement(node) || ts.isVariableDeclaration(node) ? node.name : undefined;
      return name && ts.isIdentifier(name) ? [{ name: name.text, node }] : [];
    });
  });
}

/** Exported names that use another word for one of our ideas. Keys of files that are upstream's keep upstream's words. */
export function checkVocabulary(file: CodeFile): Violation[] {
  return exportedNames(file).flatMap(({ name, node }) => {
    const message = synonymIn(name);
    return message === undefined ? [] : [{ file: file.path, line: lineOf(file, node), message }];
  });
}
