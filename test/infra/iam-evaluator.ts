import * as z from 'zod';

const texts = z.union([z.string(), z.array(z.string())]).transform((value) => (Array.isArray(value) ? value : [value]));
const values = z
  .union([z.string(), z.boolean(), z.number(), z.array(z.union([z.string(), z.boolean(), z.number()]))])
  .transform((value) => (Array.isArray(value) ? value.map(String) : [String(value)]));

/** The elements of a statement that are understood; any other fails, so that nothing is allowed by being overlooked. */
const StatementSchema = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(['Allow', 'Deny']),
  Principal: z.unknown().optional(),
  Action: texts,
  Resource: texts,
  Condition: z.record(z.string(), z.record(z.string(), values)).default({}),
});
export type Statement = z.infer<typeof StatementSchema>;

/** What IAM is asked: an action on one resource, with the context keys of the request. */
export interface IamRequest {
  readonly action: string;
  readonly resource: string;
  /** A key that is absent here is absent from the request. Case of keys does not matter. */
  readonly context?: Readonly<Record<string, string | readonly string[]>>;
}

export function statementsOf(list: readonly unknown[]): readonly Statement[] {
  return z.array(StatementSchema).min(1).parse(list);
}

/** Whether the statements allow the request: some statement allows it and none denies it. */
export function isAllowed(statements: readonly Statement[], request: IamRequest): boolean {
  const matching = statements.filter((statement) => applies(statement, request));
  return matching.some(({ Effect }) => Effect === 'Allow') && !matching.some(({ Effect }) => Effect === 'Deny');
}

function applies({ Action, Resource, Condition }: Statement, { action, resource, context = {} }: IamRequest): boolean {
  const seen = new Map(
    Object.entries(context).map(([key, value]) => [key.toLowerCase(), typeof value === 'string' ? [value] : value]),
  );
  return (
    Action.some((pattern) => isLike(action.toLowerCase(), pattern.toLowerCase())) &&
    Resource.some((pattern) => isLike(resource, pattern)) &&
    Object.entries(Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, wanted]) => holds(operator, seen.get(key.toLowerCase()), wanted)),
    )
  );
}

/** `*` stands for any text and `?` for one character, as in IAM. */
export function isLike(text: string, pattern: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/gu, '\\$&')
    .replace(/\*/gu, '.*')
    .replace(/\?/gu, '.');
  return new RegExp(`^${source}$`, 'su').test(text);
}

type Test = (seen: string, wanted: string) => boolean;

const TESTS: Readonly<Record<string, Test>> = {
  StringEquals: (seen, wanted) => seen === wanted,
  StringLike: isLike,
  ArnEquals: isLike,
  ArnLike: isLike,
  Bool: (seen, wanted) => seen.toLowerCase() === wanted.toLowerCase(),
  NumericEquals: (seen, wanted) => Number(seen) === Number(wanted),
  NumericLessThan: (seen, wanted) => Number(seen) < Number(wanted),
  NumericLessThanEquals: (seen, wanted) => Number(seen) <= Number(wanted),
};
const NEGATED: Readonly<Record<string, string>> = {
  StringNotEquals: 'StringEquals',
  StringNotLike: 'StringLike',
  ArnNotEquals: 'ArnEquals',
  ArnNotLike: 'ArnLike',
};

/** One condition: operator, the values the request has for its key, the values the statement names. */
function holds(operator: string, seen: readonly string[] | undefined, wanted: readonly string[]): boolean {
  if (operator === 'Null') return wanted.includes(String(seen === undefined));
  const [, quantifier, name = '', ifExists] =
    /^(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?$/u.exec(operator) ?? [];
  const positive = NEGATED[name];
  const test = TESTS[positive ?? name];
  if (test === undefined) throw new Error(`the evaluator does not know the condition operator ${operator}`);
  const isMet = (value: string): boolean => wanted.some((each) => test(value, each)) !== (positive !== undefined);
  if (quantifier === 'ForAllValues') return (seen ?? []).every(isMet);
  if (quantifier === 'ForAnyValue') return (seen ?? []).some(isMet);
  if (seen === undefined) return ifExists !== undefined || positive !== undefined;
  if (seen.length !== 1) throw new Error(`${operator} met a key of several values without a quantifier`);
  return isMet(seen[0] ?? '');
}
