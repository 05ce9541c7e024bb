import { CST, Lexer } from 'yaml';

/** Variables for `${env:NAME}`, and the names among them whose values may not be printed. */
export interface Variables {
  readonly values: Readonly<Record<string, string | undefined>>;
  readonly secretNames: ReadonlySet<string>;
}

/** One `${env:NAME}` outside comments: its range in the text as written and after substitution. */
export interface Substitution {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly substitutedStart: number;
  readonly substitutedEnd: number;
  readonly isSet: boolean;
}

export interface SubstitutedText {
  readonly text: string;
  readonly substitutions: readonly Substitution[];
}

const reference = /\$\{env:([A-Z_][A-Z0-9_]*)\}/g;
const placeholder = 'unset';

/**
 * Replaces references textually, before parsing, so that a value may be of any YAML type. References in comments are left
 * alone and need not be set. An unset one becomes a plain word, so that the rest of the file can still be checked.
 */
export function substituteVariables(original: string, variables: Variables): SubstitutedText {
  const comments = commentRanges(original);
  const substitutions: Substitution[] = [];
  let text = '';
  let copied = 0;
  for (const match of original.matchAll(reference)) {
    const [written, name = ''] = match;
    const start = match.index;
    if (comments.some(([from, to]) => start >= from && start < to)) continue;
    const value = Object.hasOwn(variables.values, name) ? variables.values[name] : undefined;
    text += original.slice(copied, start);
    const substitutedStart = text.length;
    text += value ?? placeholder;
    copied = start + written.length;
    substitutions.push({
      name,
      start,
      end: copied,
      substitutedStart,
      substitutedEnd: text.length,
      isSet: value !== undefined,
    });
  }
  return { text: text + original.slice(copied), substitutions };
}

/** Where an offset of the substituted text was written; offsets inside a value map to its reference. */
export function originalOffset(offset: number, substitutions: readonly Substitution[]): number {
  let shift = 0;
  for (const { start, end, substitutedStart, substitutedEnd } of substitutions) {
    if (offset < substitutedStart) break;
    if (offset < substitutedEnd) return start;
    shift = end - substitutedEnd;
  }
  return offset + shift;
}

/** `${env:name}` spellings that look like references but are not: names are upper case. */
export function nearReferences(original: string): readonly { readonly text: string; readonly offset: number }[] {
  const comments = commentRanges(original);
  return [...original.matchAll(/\$\{env:([^}\n]*)\}/g)]
    .filter((match) => !/^[A-Z_][A-Z0-9_]*$/.test(match[1] ?? ''))
    .map((match) => ({ text: match[0], offset: match.index }))
    .filter(({ offset }) => comments.every(([from, to]) => offset < from || offset >= to));
}

/** Comments of the text, references masked so that their braces mean nothing to YAML. */
function commentRanges(original: string): readonly (readonly [number, number])[] {
  const masked = original.replaceAll(/\$\{env:[^}\n]*\}/g, (written) => 'x'.repeat(written.length));
  const ranges: (readonly [number, number])[] = [];
  let offset = 0;
  let isScalar = false;
  for (const token of new Lexer().lex(masked)) {
    if (token === CST.SCALAR || token === CST.DOCUMENT || token === CST.FLOW_END) {
      isScalar = token === CST.SCALAR;
      continue;
    }
    if (!isScalar && token.startsWith('#')) ranges.push([offset, offset + token.length]);
    offset += token.length;
    isScalar = false;
  }
  return ranges;
}
