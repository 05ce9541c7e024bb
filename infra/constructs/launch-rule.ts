import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { taggedAtLaunch, type LaunchTags } from './sandbox-tags.ts';

/** Statements of each policy by the name of the policy. */
export type NamedPolicies = Readonly<Record<string, readonly iam.PolicyStatement[]>>;

export interface LaunchRuleProps extends LaunchTags {
  /** Ids of the subnets and of the security groups that a sandbox may be put into. */
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
  /** Tag that marks an image of this account as one for sandboxes. */
  readonly imageTag: string;
  /** Images that the settings name, whoever's they are. */
  readonly imageIds: readonly string[];
  /** The only ways in which a sandbox starts. */
  readonly launchTemplateArns: readonly string[];
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
 * What a role needs to launch sandboxes, and all that it may launch: by a launch template of ours, from our images and those of
 * the settings, in our subnets, in the template's group, under the sandbox's own role, IMDSv2 only, on encrypted volumes, and
 * nothing without every tag. EC2 asks for each resource of a launch by itself: one that no statement covers (a key pair, another
 * launch template, an interface that is there already) fails the whole. Each is a managed policy of its own: IAM lets all inline
 * policies of a role have 10,240 characters together and a managed one 6,144, and the tags stand in four of them.
 */
export function launchPolicies(props: LaunchRuleProps): NamedPolicies {
  return {
    LaunchFromWhatIsThere: [...placeStatements(props), ...handOverStatements(props)],
    ...Object.fromEntries(partStatements(props).map((statement) => [String(statement.sid), [statement]])),
  };
}

const RUN = ['ec2:RunInstances'];
const subnetArns = ({ subnetIds }: LaunchRuleProps): string[] => subnetIds.map((id) => ec2Arn(`subnet/${id}`));

const byTemplate = ({ launchTemplateArns }: LaunchRuleProps): iam.Conditions => ({
  ArnEquals: { 'ec2:LaunchTemplate': [...launchTemplateArns] },
});

/** What is there before a launch. The group must be the template's: one that the request names is no resource of the template. */
function placeStatements(props: LaunchRuleProps): readonly iam.PolicyStatement[] {
  const groups = props.securityGroupIds.map((id) => ec2Arn(`security-group/${id}`));
  const images = props.imageIds.map((id) => ec2Arn(`image/${id}`, ''));
  const own = {
    StringEquals: { 'ec2:Owner': Aws.ACCOUNT_ID },
    Null: { [`aws:ResourceTag/${props.imageTag}`]: 'false' },
  };
  return [
    allow('LaunchByOwnTemplates', RUN, [...props.launchTemplateArns]),
    allow('LaunchFromOwnImages', RUN, [ec2Arn('image/*', '')], both(own, byTemplate(props))),
    ...(images.length === 0 ? [] : [allow('LaunchFromNamedImages', RUN, images, byTemplate(props))]),
    allow('LaunchIntoSandboxSubnets', RUN, subnetArns(props), byTemplate(props)),
    allow(
      'LaunchIntoTheTemplatesGroup',
      RUN,
      groups,
      both(byTemplate(props), { Bool: { 'ec2:IsLaunchTemplateResource': 'true' } }),
    ),
  ];
}

/** What a launch makes, and the tags it gets. */
function partStatements(props: LaunchRuleProps): readonly iam.PolicyStatement[] {
  const tagged = taggedAtLaunch(props);
  const [instances, volumes, interfaces] = [ec2Arn('instance/*'), ec2Arn('volume/*'), ec2Arn('network-interface/*')];
  const isSafe = {
    StringEquals: { 'ec2:MetadataHttpTokens': 'required' },
    NumericLessThanEquals: { 'ec2:MetadataHttpPutResponseHopLimit': '1' },
    ArnEquals: { 'ec2:InstanceProfile': props.instanceProfileArn },
  };
  const launched = both(tagged, byTemplate(props));
  const isPlaced = { ArnEquals: { 'ec2:Subnet': subnetArns(props) } };
  const isLaunch = { StringEquals: { 'ec2:CreateAction': 'RunInstances' } };
  return [
    allow('LaunchTaggedInstances', RUN, [instances], both(launched, isSafe)),
    allow('LaunchTaggedEncryptedVolumes', RUN, [volumes], both(launched, { Bool: { 'ec2:Encrypted': 'true' } })),
    allow('LaunchTaggedInterfaces', RUN, [interfaces], both(launched, isPlaced)),
    allow('TagOnlyWhatIsBeingLaunched', ['ec2:CreateTags'], [instances, volumes, interfaces], both(tagged, isLaunch)),
  ];
}

const VOLUME_KEY_ACTIONS = [
  'kms:Decrypt',
  'kms:DescribeKey',
  'kms:GenerateDataKeyWithoutPlaintext',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
];

/** What EC2 does in the launcher's name. */
function handOverStatements({ sandboxRoleArn, volumeKeyArn }: LaunchRuleProps): readonly iam.PolicyStatement[] {
  const byEc2 = { StringEquals: { 'kms:ViaService': `ec2.${Aws.REGION}.amazonaws.com` } };
  return [
    allow('HandOverOnlyTheSandboxRole', ['iam:PassRole'], [sandboxRoleArn], {
      StringEquals: { 'iam:PassedToService': 'ec2.amazonaws.com' },
    }),
    allow('EncryptVolumes', VOLUME_KEY_ACTIONS, [volumeKeyArn], byEc2),
    allow('LendTheVolumeKeyToEc2', ['kms:CreateGrant'], [volumeKeyArn], {
      ...byEc2,
      Bool: { 'kms:GrantIsForAWSResource': 'true' },
    }),
  ];
}
