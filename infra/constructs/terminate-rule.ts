import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { ownedBy } from './sandbox-tags.ts';

/** Calls that EC2 lets nobody scope to a resource; they only tell. */
export const UNSCOPED_DESCRIBE_ACTIONS = [
  'ec2:DescribeInstanceStatus',
  'ec2:DescribeInstances',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeVolumes',
] as const;

const arn = (resource: string): string => `arn:${Aws.PARTITION}:ec2:${Aws.REGION}:${Aws.ACCOUNT_ID}:${resource}`;

/** What a role needs to end sandboxes of this stage and what they leave behind, and nothing that anybody else launched. */
export function terminateStatements(stage: string): readonly iam.PolicyStatement[] {
  const conditions = ownedBy(stage, 'aws:ResourceTag');
  return [
    new iam.PolicyStatement({
      sid: 'EndOnlyOwnSandboxes',
      actions: ['ec2:StopInstances', 'ec2:TerminateInstances'],
      resources: [arn('instance/*')],
      conditions,
    }),
    new iam.PolicyStatement({
      sid: 'DeleteOnlyWhatSandboxesLeft',
      actions: ['ec2:DeleteVolume', 'ec2:DeleteNetworkInterface'],
      resources: [arn('volume/*'), arn('network-interface/*')],
      conditions,
    }),
    new iam.PolicyStatement({ sid: 'Look', actions: [...UNSCOPED_DESCRIBE_ACTIONS], resources: ['*'] }),
  ];
}
