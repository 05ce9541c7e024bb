import { Stack } from 'aws-cdk-lib';
import type * as iam from 'aws-cdk-lib/aws-iam';
import * as z from 'zod';
import { statementsOf, type Statement } from './iam-evaluator.ts';

export const ACCOUNT = '111122223333';
export const REGION = 'eu-central-1';
const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': ACCOUNT,
  'AWS::Partition': 'aws',
  'AWS::Region': REGION,
};

const JoinSchema = z.strictObject({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) });
const RefSchema = z.strictObject({ Ref: z.string() });

/** A value of a template with pseudo parameters filled in; `named` gives what other references stand for. */
export function filledIn(value: unknown, named: (reference: unknown) => string | undefined = () => undefined): unknown {
  if (Array.isArray(value)) return value.map((each) => filledIn(each, named));
  if (typeof value !== 'object' || value === null) return value;
  const ref = RefSchema.safeParse(value);
  const known = ref.success ? PSEUDO[ref.data.Ref] : undefined;
  const stands = known ?? named(value);
  if (stands !== undefined) return stands;
  const join = JoinSchema.safeParse(value);
  if (join.success) {
    const [separator, parts] = join.data['Fn::Join'];
    return parts.map((part) => String(filledIn(part, named))).join(separator);
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filledIn(each, named)]));
}

/** The statements as IAM sees them once they are deployed. */
export function deployed(statements: readonly iam.PolicyStatement[]): readonly Statement[] {
  const stack = new Stack();
  return statementsOf(statements.map((statement) => filledIn(stack.resolve(statement.toStatementJson()))));
}
