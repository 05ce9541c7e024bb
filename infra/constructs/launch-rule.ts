import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { taggedAtLaunch, type LaunchTags } from './sandbox-tags.ts';

export interface LaunchRuleProps extends LaunchTags {
  /** Ids of the subnets and of the security groups that a sandbox may be put into. */
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
  /** Tag that marks an image of this account as one for sandboxes. */
  readonly imageTag: string;
  readonly sandboxRoleArn: string;
  readonly instanceProfileArn: string;
  readonly volumeKeyArn: string;
}

const ec2Arn = (resource: string, account: string = Aws.ACCOUNT_ID): string =>
  `arn:${Aws.PARTITION}:ec2:${Aws.REGION}:${account}:${resource}`;

/** Condition blocks joined; each operator's keys are added up. */
function both(...blocks: readonly iam.Conditions[]): iam.Conditions {
  const joined: Record<string, Record<string, unknown>> = {};
  for (const [operator, keys] of blocks.flatMap((block) => Object.entries(block))) {
    joined[operator] = { ...joined[operator], ...(keys as Record<string, unknown>) };
  }
  return joined;
}

const allow = (
  sid: string,
  actions: string[],
  resources: string[],
  conditions: iam.Conditions = {},
): iam.PolicyStatement => new iam.PolicyStatement({ sid, actions, resources, conditions });

/**
 * What a role needs to launch sandboxes, and all that it may launch: our images, in our subnets and groups, under the sandbox's own role,
 * IMDSv2 only, on encrypted volumes, and nothing without every tag. EC2 asks for each resource of a launch by itself: one
 * that no statement covers (a key pair, a launch template, an interface that is there already) fails the whole.
 */
export function launchStatements(props: LaunchRuleProps): readonly iam.PolicyStatement[] {
  const tagged = taggedAtLaunch(props);
  const subnets = props.subnetIds.map((id) => ec2Arn(`subnet/${id}`));
  const launched = [ec2Arn('instance/*'), ec2Arn('volume/*'), ec2Arn('network-interface/*')];
  return [
    allow('LaunchFromOwnImages', ['ec2:RunInstances'], [ec2Arn('image/*', '')], {
      StringEquals: { 'ec2:Owner': Aws.ACCOUNT_ID },
      Null: { [`aws:ResourceTag/${props.imageTag}`]: 'false' },
    }),
    allow(
      'LaunchIntoSandboxNetworks',
      ['ec2:RunInstances'],
      [...subnets, ...props.securityGroupIds.map((id) => ec2Arn(`security-group/${id}`))],
    ),
    allow(
      'LaunchTaggedInstances',
      ['ec2:RunInstances'],
      [ec2Arn('instance/*')],
      both(tagged, {
        StringEquals: { 'ec2:MetadataHttpTokens': 'required' },
        NumericLessThanEquals: { 'ec2:MetadataHttpPutResponseHopLimit': '1' },
        ArnEquals: { 'ec2:InstanceProfile': props.instanceProfileArn },
      }),
    ),
    allow(
      'LaunchTaggedEncryptedVolumes',
      ['ec2:RunInstances'],
      [ec2Arn('volume/*')],
      both(tagged, { Bool: { 'ec2:Encrypted': 'true' } }),
    ),
    allow(
      'LaunchTaggedInterfaces',
      ['ec2:RunInstances'],
      [ec2Arn('network-interface/*')],
      both(tagged, { ArnEquals: { 'ec2:Subnet': subnets } }),
    ),
    allow(
      'TagOnlyWhatIsBeingLaunched',
      ['ec2:CreateTags'],
      launched,
      both(tagged, { StringEquals: { 'ec2:CreateAction': 'RunInstances' } }),
    ),
    allow('HandOverOnlyTheSandboxRole', ['iam:PassRole'], [props.sandboxRoleArn], {
      StringEquals: { 'iam:PassedToService': 'ec2.amazonaws.com' },
    }),
    allow(
      'EncryptVolumes',
      ['kms:Decrypt', 'kms:DescribeKey', 'kms:GenerateDataKeyWithoutPlaintext', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'],
      [props.volumeKeyArn],
      {
        StringEquals: { 'kms:ViaService': `ec2.${Aws.REGION}.amazonaws.com` },
      },
    ),
    allow('LendTheVolumeKeyToEc2', ['kms:CreateGrant'], [props.volumeKeyArn], {
      StringEquals: { 'kms:ViaService': `ec2.${Aws.REGION}.amazonaws.com` },
      Bool: { 'kms:GrantIsForAWSResource': 'true' },
    }),
  ];
}
