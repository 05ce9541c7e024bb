import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { onlyTagKeys, ownedBy, STAGE_TAG } from './sandbox-tags.ts';

/** Calls that EC2 lets nobody scope to a resource; they only tell. */
export const UNSCOPED_DESCRIBE_ACTIONS = [
  'ec2:DescribeInstanceStatus',
  'ec2:DescribeInstances',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeVolumes',
] as const;

const arn = (resource: string): string => `arn:${Aws.PARTITION}:ec2:${Aws.REGION}:${Aws.ACCOUNT_ID}:${resource}`;

/** What a role needs to find sandboxes and what they leave behind. */
export function describeStatements(): readonly iam.PolicyStatement[] {
  return [new iam.PolicyStatement({ sid: 'Look', actions: [...UNSCOPED_DESCRIBE_ACTIONS], resources: ['*'] })];
}

/** What a role needs to see why a sandbox of this stage did not start. */
export function evidenceStatements(stage: string): readonly iam.PolicyStatement[] {
  return [
    new iam.PolicyStatement({
      sid: 'SeeConsoleOfOwnSandboxes',
      actions: ['ec2:GetConsoleOutput', 'ec2:GetConsoleScreenshot'],
      resources: [arn('instance/*')],
      conditions: ownedBy(stage, 'aws:ResourceTag'),
    }),
  ];
}

/**
 * What a role needs to end sandboxes of this stage and what they leave behind, and nothing that anybody else launched. One that
 * is kept has its shutdown made a stop; one that is let go loses the tag of the stage, and with it all of these rights.
 */
export function terminateStatements(stage: string): readonly iam.PolicyStatement[] {
  const owned = ownedBy(stage, 'aws:ResourceTag');
  const parts = [arn('instance/*'), arn('volume/*'), arn('network-interface/*')];
  return [
    new iam.PolicyStatement({
      sid: 'EndOnlyOwnSandboxes',
      actions: ['ec2:StopInstances', 'ec2:TerminateInstances'],
      resources: [arn('instance/*')],
      conditions: owned,
    }),
    new iam.PolicyStatement({
      sid: 'DeleteOnlyWhatSandboxesLeft',
      actions: ['ec2:DeleteVolume', 'ec2:DeleteNetworkInterface'],
      resources: [arn('volume/*'), arn('network-interface/*')],
      conditions: owned,
    }),
    new iam.PolicyStatement({
      sid: 'MakeShutdownOfKeptOnesAStop',
      actions: ['ec2:ModifyInstanceAttribute'],
      resources: [arn('instance/*')],
      conditions: {
        ...owned,
        StringEquals: {
          ...(owned['StringEquals'] as Record<string, string>),
          'ec2:Attribute': 'InstanceInitiatedShutdownBehavior',
        },
      },
    }),
    new iam.PolicyStatement({
      sid: 'LetGoOfOwnSandboxes',
      actions: ['ec2:DeleteTags'],
      resources: parts,
      conditions: { ...owned, ...onlyTagKeys([STAGE_TAG]) },
    }),
    ...describeStatements(),
  ];
}
