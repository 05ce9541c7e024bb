import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Tags,
  visit,
  type YAMLMap,
} from 'yaml';
import {
  type ConfigSource,
  type LocatedProblem,
  type Location,
  problemAt,
  type ProblemText,
  renderValue,
  type ValuePath,
  valueAt,
} from '#core/located';
import {
  nearReferences,
  originalOffset,
  substituteVariables,
  type SubstitutedText,
  type Substitution,
  type Variables,
} from './environment-references.ts';
import { pyYamlScalars } from './yaml-scalars.ts';

/** A parsed file, or null when it could not be parsed; problems found so far. */
export interface YamlReading {
  readonly source: YamlSource | null;
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

/** A file whose values know their line and column in the text as written, before substitution. */
export interface YamlSource extends ConfigSource {
  /** The value there cannot be judged: it comes from a variable that is not set. */
  isUnset(path: ValuePath): boolean;
}

const secretName = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE/;

/** Parses YAML 1.1 as PyYAML does, after substituting `${env:NAME}`. Reports every unset variable and syntax fault. */
export function parseYaml(original: string, file: string, variables: Variables): YamlReading {
  const substituted = substituteVariables(original, variables);
  const locate = locator(original, file, substituted.substitutions);
  const unset = unsetVariables(original, file, substituted.substitutions);
  const warnings = nearReferences(original).map(({ text, offset }) =>
    nearReference(lineAt(original, file, offset), text),
  );
  try {
    const document = parseDocument(substituted.text, {
      version: '1.1',
      merge: true,
      customTags: pyYamlTags,
      prettyErrors: false,
      logLevel: 'error',
    });
    const faults = [
      ...[...document.errors, ...document.warnings].map(({ message, pos }) => ({ offset: pos[0], message })),
      ...unresolvedAliases(document),
    ].map(({ offset, message }) => syntaxProblem(locate(offset), lineText(original, locate(offset)), message));
    if (faults.length > 0) return { source: null, problems: [...unset, ...firstOfLines(faults)], warnings };
    const source = yamlSource(document, file, { locate, substituted, secretNames: variables.secretNames });
    return { source, problems: unset, warnings };
  } catch (error) {
    const reason =
      error instanceof RangeError ? 'it is nested too deeply' : error instanceof Error ? error.message : String(error);
    const fault = syntaxProblem({ file, line: 1, column: 1 }, renderValue(original), reason);
    return { source: null, problems: [...unset, fault], warnings };
  }
}

/** Line and column of an offset of a text. */
export function lineAt(text: string, file: string, offset: number): Location {
  const before = text.slice(0, offset);
  return { file, line: before.split('\n').length, column: offset - (before.lastIndexOf('\n') + 1) + 1 };
}

interface SourceParts {
  readonly locate: (offset: number) => Location;
  readonly substituted: SubstitutedText;
  readonly secretNames: ReadonlySet<string>;
}

function yamlSource(document: Document.Parsed, file: string, parts: SourceParts): YamlSource {
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  rejectCycles(value);
  const touching = (path: ValuePath): readonly Substitution[] => {
    const range = find(document, path)?.value?.range;
    if (range === undefined || range === null) return [];
    return parts.substituted.substitutions.filter(
      (item) => item.substitutedStart < range[1] && item.substitutedEnd > range[0],
    );
  };
  return {
    file,
    value,
    locate: (path, part = 'value') => parts.locate(offsetOf(document, path, part)),
    show: (path) => showValue(valueAt(value, path), touching(path), parts.secretNames),
    isUnset: (path) => touching(path).some(({ isSet }) => !isSet),
  };
}

function showValue(value: unknown, from: readonly Substitution[], secretNames: ReadonlySet<string>): string {
  if (from.length === 0 || typeof value === 'object') return renderValue(value);
  const names = [...new Set(from.map(({ name }) => `\${env:${name}}`))].join(', ');
  const isSecret = from.some(({ name }) => secretNames.has(name) || secretName.test(name));
  return isSecret ? `a value that is not shown (from ${names})` : `${renderValue(value)} (from ${names})`;
}

/** The library's YAML 1.1 collections, null, text, binary and merge; PyYAML's rules for the rest. */
function pyYamlTags(tags: Tags): Tags {
  const replaced = /:(?:bool|int|float|timestamp)$/;
  return [...tags.filter((tag) => typeof tag !== 'string' && !replaced.test(tag.tag)), ...pyYamlScalars];
}

interface Found {
  readonly key: Node | null;
  readonly value: Node | null;
}

/** The nodes a path leads to, through aliases and merge keys; null when it leads nowhere. */
function find(document: Document.Parsed, path: ValuePath): Found | null {
  let found: Found = { key: null, value: document.contents };
  for (const step of path) {
    const node = resolveAlias(document, found.value);
    const next = isMap(node)
      ? findPair(document, node, String(step))
      : isSeq(node)
        ? asFound(node.items[Number(step)])
        : null;
    if (next === null) return null;
    found = next;
  }
  return found;
}

function findPair(document: Document.Parsed, map: YAMLMap, name: string): Found | null {
  for (const pair of map.items) if (!isMerge(pair) && keyName(pair) === name) return pairFound(pair);
  for (const pair of map.items.filter(isMerge)) {
    const merged = resolveAlias(document, isNode(pair.value) ? pair.value : null);
    const sources = isSeq(merged) ? merged.items : [merged];
    for (const item of sources) {
      const source = resolveAlias(document, isNode(item) ? item : null);
      const found = isMap(source) ? findPair(document, source, name) : null;
      if (found !== null) return found;
    }
  }
  return null;
}

function isMerge(pair: Pair): boolean {
  return isScalar(pair.key) && (pair.key.type ?? 'PLAIN') === 'PLAIN' && pair.key.source === '<<';
}

function keyName(pair: Pair): string {
  return isScalar(pair.key) ? renderKey(pair.key.value) : '';
}

/** As `toJS` names the property. */
function renderKey(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

function pairFound(pair: Pair): Found {
  return { key: isNode(pair.key) ? pair.key : null, value: isNode(pair.value) ? pair.value : null };
}

function asFound(item: unknown): Found | null {
  if (isPair(item)) return pairFound(item);
  return isNode(item) ? { key: null, value: item } : null;
}

function resolveAlias(document: Document.Parsed, node: Node | null): Node | null {
  return isAlias(node) ? (node.resolve(document) ?? null) : node;
}

/** Start of the key or value; a path that leads nowhere is placed at the key, or item, it would be in. */
function offsetOf(document: Document.Parsed, path: ValuePath, part: 'key' | 'value'): number {
  const found = find(document, path);
  if (found === null) return path.length === 0 ? 0 : offsetOf(document, path.slice(0, -1), 'key');
  const node = part === 'key' ? (found.key ?? found.value) : (found.value ?? found.key);
  return node?.range?.[0] ?? 0;
}

function locator(original: string, file: string, substitutions: readonly Substitution[]): (offset: number) => Location {
  const counter = new LineCounter();
  for (let index = original.indexOf('\n'); index !== -1; index = original.indexOf('\n', index + 1))
    counter.addNewLine(index + 1);
  counter.lineStarts.unshift(0);
  return (offset) => {
    const { line, col } = counter.linePos(Math.min(originalOffset(offset, substitutions), original.length));
    return { file, line, column: col };
  };
}

function unsetVariables(original: string, file: string, substitutions: readonly Substitution[]): LocatedProblem[] {
  return substitutions
    .filter(({ isSet }) => !isSet)
    .map(({ name, start }) =>
      problemAt(lineAt(original, file, start), {
        what: `environment variable ${name} is not set`,
        got: `\${env:${name}}`,
        allowed: 'a variable that is set in the environment or in the secrets file',
        action: `set ${name}, or write the value in its place`,
      }),
    );
}

function nearReference(at: Location, text: string): LocatedProblem {
  return problemAt(at, {
    what: 'this is not substituted',
    got: JSON.stringify(text),
    allowed: '${env:NAME} with a name of upper-case letters, digits and _',
    action: 'correct the name',
  });
}

/** One syntax fault often gives several messages about the same line; the first says it best. */
function firstOfLines(faults: readonly LocatedProblem[]): LocatedProblem[] {
  return faults.filter(({ line }, index) => faults.findIndex((other) => other.line === line) === index);
}

function syntaxProblem(at: Location, got: string, message: string): LocatedProblem {
  const isTooDeep = message.includes('call stack');
  const reason = isTooDeep ? 'it is nested too deeply' : message.replace(/\s+/g, ' ').replace(/[.:]$/, '');
  const text: ProblemText & { got: string } = {
    what: `the file is not valid YAML: ${reason}`,
    got,
    allowed: 'one YAML 1.1 document',
    action: 'correct the syntax here or just before',
  };
  return problemAt(at, text);
}

function lineText(original: string, at: Location): string {
  return renderValue((original.split('\n')[at.line - 1] ?? '').trim());
}

function unresolvedAliases(document: Document.Parsed): { offset: number; message: string }[] {
  const faults: { offset: number; message: string }[] = [];
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return;
      faults.push({ offset: alias.range?.[0] ?? 0, message: `alias *${alias.source} has no anchor before it` });
    },
  });
  return faults;
}

function rejectCycles(value: unknown, inside: readonly unknown[] = []): void {
  if (typeof value !== 'object' || value === null) return;
  if (inside.includes(value)) throw new Error('an anchor contains itself');
  for (const child of Object.values(value)) rejectCycles(child, [...inside, value]);
}
