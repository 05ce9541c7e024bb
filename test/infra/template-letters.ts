import * as z from 'zod';
import type { Deployment } from './deployment.ts';

/** Letters of what a reference to a resource becomes; more for what has no row than any name or ARN of ours has. */
const LETTERS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'AWS::EC2::LaunchTemplate': { Ref: 20 },
  'AWS::EC2::SecurityGroup': { GroupId: 20 },
  'AWS::EC2::Subnet': { Ref: 24 },
  'AWS::IAM::Role': { Arn: 31 + 64 },
  'AWS::S3::Bucket': { Arn: 13 + 63 },
};
const ANY_REFERENCE = 140;
/** The longest there are. */
const PSEUDO: Readonly<Record<string, number>> = {
  'AWS::AccountId': 12,
  'AWS::Partition': 'aws-us-gov'.length,
  'AWS::Region': 'ap-southeast-1'.length,
  'AWS::URLSuffix': 'amazonaws.com.cn'.length,
};
const IMAGE_ID = 'ami-0123456789abcdef0'.length;

const RefSchema = z.strictObject({ Ref: z.string() });
const GetAttSchema = z.strictObject({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) });
const ImportSchema = z.strictObject({ 'Fn::ImportValue': z.string() });
const JoinSchema = z.strictObject({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) });

/**
 * A value of a stack's template with text of the right length for each reference, at most: what IAM and CloudFormation count is
 * the text that references have become.
 */
export function filledAtLength(deployment: Deployment, stack: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => filledAtLength(deployment, stack, each));
  if (typeof value !== 'object' || value === null) return value;
  const ref = RefSchema.safeParse(value);
  if (ref.success) return 'x'.repeat(PSEUDO[ref.data.Ref] ?? lettersOf(deployment, stack, ref.data.Ref, 'Ref'));
  const attribute = GetAttSchema.safeParse(value);
  if (attribute.success) return 'x'.repeat(lettersOf(deployment, stack, ...attribute.data['Fn::GetAtt']));
  const imported = ImportSchema.safeParse(value);
  if (imported.success) return filledImport(deployment, imported.data['Fn::ImportValue']);
  const join = JoinSchema.safeParse(value);
  if (join.success) {
    const [separator, parts] = join.data['Fn::Join'];
    return parts.map((part) => String(filledAtLength(deployment, stack, part))).join(separator);
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filledAtLength(deployment, stack, each)]));
}

/** Characters as IAM counts them: white space is none. */
export function policyLetters(deployment: Deployment, stack: string, document: unknown): number {
  return JSON.stringify(filledAtLength(deployment, stack, document)).replace(/\s/gu, '').length;
}

function lettersOf({ templates }: Deployment, stack: string, id: string, attribute: string): number {
  const template = templates.get(stack);
  if (template?.Parameters[id]?.Type === 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>') return IMAGE_ID;
  return LETTERS[template?.Resources[id]?.Type ?? '']?.[attribute] ?? ANY_REFERENCE;
}

function filledImport(deployment: Deployment, name: string): unknown {
  for (const [stack, { Outputs }] of deployment.templates) {
    const found = Object.values(Outputs).find(({ Export }) => Export?.Name === name);
    if (found !== undefined) return filledAtLength(deployment, stack, found.Value);
  }
  throw new Error(`a stack imports ${name}, which no stack exports`);
}
