import { findShapeFault, isJsonObject } from './json.ts';
import { isSameMoney, parseMoney } from './money.ts';

/** A filled form: text in each field, or the checked boxes of a group. */
export type FormFields = Readonly<Record<string, string | readonly string[]>>;

/** How the text of a field is compared. */
export type FieldKind = 'money' | 'text' | 'digits';

export interface FormScore {
  readonly right: number;
  /** Reference fields that say something: not blank, not zero, not an empty group. */
  readonly informative: number;
  readonly wrong: readonly string[];
  /** Why the whole form counts for nothing, or null. */
  readonly gate: string | null;
}

/**
 * Scores a filled form against the references that are allowed for it, and keeps the best. Gate: the document must have
 * exactly the reference's members, each of the same kind, and groups must hold text only. Behind the gate every informative
 * field of the reference has equal weight.
 * @throws Error when a reference is no form or says nothing.
 */
export function scoreForm(
  actual: unknown,
  references: readonly unknown[],
  kindOf: (field: string) => FieldKind,
): FormScore {
  const scores = references.map((reference) => scoreAgainst(actual, reference, kindOf));
  const [first, ...others] = scores;
  if (first === undefined) throw new Error('a form needs at least one reference');
  return others.reduce((best, score) => (fraction(score) > fraction(best) ? score : best), first);
}

const fraction = (score: FormScore): number => score.right / score.informative;

function scoreAgainst(actual: unknown, reference: unknown, kindOf: (field: string) => FieldKind): FormScore {
  const expected = fieldsOf(reference);
  if (expected === null) throw new Error('the reference is not a form: {"fields": {name: text or list of texts}}');
  const informative = Object.entries(expected).filter(([, value]) => isInformative(value));
  if (informative.length === 0) throw new Error('the reference form says nothing');

  const found = fieldsOf(actual);
  const shape = findShapeFault(actual, reference);
  const gate =
    shape ?? findIdentityFault(actual, reference) ?? (found === null ? 'a checkbox group may hold text only' : null);
  if (gate !== null || found === null) return { right: 0, informative: informative.length, wrong: [], gate };
  const wrong = informative
    .filter(([name, value]) => !isSameField(found[name], value, kindOf(name)))
    .map(([name]) => name);
  return { right: informative.length - wrong.length, informative: informative.length, wrong, gate: null };
}

function fieldsOf(document: unknown): FormFields | null {
  if (!isJsonObject(document) || !isJsonObject(document['fields'])) return null;
  const fields = document['fields'];
  const isField = (value: unknown): boolean =>
    typeof value === 'string' || (Array.isArray(value) && value.every((box) => typeof box === 'string'));
  return Object.values(fields).every(isField) ? (fields as FormFields) : null;
}

/** Members beside `fields` say which form it is and must be equal. */
function findIdentityFault(actual: unknown, reference: unknown): string | null {
  if (!isJsonObject(actual) || !isJsonObject(reference)) return null;
  const name = Object.keys(reference).find((key) => key !== 'fields' && actual[key] !== reference[key]);
  return name === undefined
    ? null
    : `/${name} is ${JSON.stringify(actual[name])}, must be ${JSON.stringify(reference[name])}`;
}

function isInformative(value: string | readonly string[]): boolean {
  if (typeof value !== 'string') return value.length > 0;
  return value.trim() !== '' && parseMoney(value) !== 0;
}

function isSameField(
  actual: string | readonly string[] | undefined,
  expected: string | readonly string[],
  kind: FieldKind,
): boolean {
  if (typeof expected !== 'string') return Array.isArray(actual) && isSameSet(actual as readonly string[], expected);
  if (typeof actual !== 'string') return false;
  if (kind === 'money') return isSameMoney(actual, expected);
  const plain = kind === 'digits' ? onlyDigits : normalizeText;
  return plain(actual) === plain(expected);
}

const isSameSet = (actual: readonly string[], expected: readonly string[]): boolean =>
  actual.length === new Set(actual).size &&
  actual.length === expected.length &&
  expected.every((box) => actual.includes(box));

const onlyDigits = (text: string): string => text.replace(/\D/g, '');
const normalizeText = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase();
