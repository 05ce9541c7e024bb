import { PolicyStatement, type PolicyStatementProps } from 'aws-cdk-lib/aws-iam';
import type { Need } from '#contracts/needs';
import { EVENT_SOURCE } from '#contracts/events';
import { made, type BucketResource, type HostResources, type SandboxResources } from './host-resources.ts';
import { launchPolicies, type NamedPolicies } from './launch-rule.ts';
import { sendCommandStatements } from './send-command-rule.ts';
import { describeStatements, evidenceStatements, terminateStatements } from './terminate-rule.ts';

const TABLE_READS = ['dynamodb:GetItem', 'dynamodb:Query'];
/** A transaction needs the right of each of its parts. */
const TABLE_WRITES = [
  ...TABLE_READS,
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:ConditionCheckItem',
];
const OBJECT_WRITES = ['s3:PutObject', 's3:AbortMultipartUpload'];
/** Of the artifacts bucket. */
const RUN_TREE_PREFIX = 'runs/';
const COPIED_PREFIX = 'attempts/';
/** Requests to guest runners and their answers, of any attempt. */
const GUEST_PREFIX = 'attempts/*/guest/';
/** Marks an image of the account as one that sandboxes may be launched from. */
const IMAGE_TAG = 'examhall:image';

/** Actions that IAM knows no resources for, each with its reason; no other statement may name `*` as its resource. */
export const UNSCOPED_ACTIONS: Readonly<Record<string, string>> = {
  'states:SendTaskSuccess': 'a task token is the resource, and IAM cannot name one',
  'states:SendTaskFailure': 'a task token is the resource, and IAM cannot name one',
  'states:SendTaskHeartbeat': 'a task token is the resource, and IAM cannot name one',
  'xray:PutTraceSegments': 'X-Ray has no resource for traces',
  'xray:PutTelemetryRecords': 'X-Ray has no resource for traces',
  'xray:GetSamplingRules': 'X-Ray has no resource for traces',
  'xray:GetSamplingTargets': 'X-Ray has no resource for traces',
  'logs:CreateLogDelivery': 'Step Functions sets up log delivery, which has no resource',
  'logs:GetLogDelivery': 'Step Functions sets up log delivery, which has no resource',
  'logs:UpdateLogDelivery': 'Step Functions sets up log delivery, which has no resource',
  'logs:DeleteLogDelivery': 'Step Functions sets up log delivery, which has no resource',
  'logs:ListLogDeliveries': 'Step Functions sets up log delivery, which has no resource',
  'logs:PutResourcePolicy': 'the policy of log delivery belongs to the account',
  'logs:DescribeResourcePolicies': 'the policy of log delivery belongs to the account',
  'logs:DescribeLogGroups': 'API Gateway and Step Functions list groups before they write',
  'logs:CreateLogGroup': 'API Gateway checks for it when its account role is set',
  'logs:CreateLogStream': 'API Gateway checks for it when its account role is set',
  'logs:DescribeLogStreams': 'API Gateway checks for it when its account role is set',
  'logs:PutLogEvents': 'API Gateway checks for it when its account role is set',
  'logs:GetLogEvents': 'API Gateway checks for it when its account role is set',
  'logs:FilterLogEvents': 'API Gateway checks for it when its account role is set',
  'ec2:CreateNetworkInterface': 'Lambda makes the interfaces of a function in a network before they have a name',
  'ec2:DescribeInstanceStatus': 'listing has no resource',
  'ec2:DescribeInstances': 'listing has no resource',
  'ec2:DescribeNetworkInterfaces': 'listing has no resource',
  'ec2:DescribeSubnets': 'listing has no resource',
  'ec2:DescribeVolumes': 'listing has no resource',
  'ssm:DescribeInstanceInformation': 'listing has no resource',
  'ssm:ListCommandInvocations': 'SSM scopes no question about commands',
  'ssm:ListInstanceAssociations': 'the agent of a sandbox asks before anybody knows its name',
  'ssm:UpdateInstanceInformation': 'the agent of a sandbox reports before anybody knows its name',
  'ssmmessages:CreateControlChannel': 'the channel between SSM and the agent of a sandbox has no resource',
  'ssmmessages:CreateDataChannel': 'the channel between SSM and the agent of a sandbox has no resource',
  'ssmmessages:OpenControlChannel': 'the channel between SSM and the agent of a sandbox has no resource',
  'ssmmessages:OpenDataChannel': 'the channel between SSM and the agent of a sandbox has no resource',
  'ec2:DeleteNetworkInterface': 'Lambda removes the interfaces it made, under names nobody else knows',
  'ec2:AssignPrivateIpAddresses': 'Lambda makes the interfaces of a function in a network before they have a name',
  'ec2:UnassignPrivateIpAddresses': 'Lambda removes the interfaces it made, under names nobody else knows',
};

/** Rights that one need stands for, but for those of `policiesOf`. */
export function statementsOf(need: Need, resources: HostResources): readonly PolicyStatement[] {
  switch (need.port) {
    case 'unitStore':
      return [allow({ actions: need.access === 'write' ? TABLE_WRITES : TABLE_READS, on: [resources.table.arn] })];
    case 'artifacts':
      return artifactStatements(need, resources.buckets[need.bucket]);
    case 'runTree':
      return [
        ...objectStatements(resources.buckets.artifacts, { access: 'write', keyPrefixes: [RUN_TREE_PREFIX] }),
        ...objectStatements(resources.buckets.artifacts, { access: 'read', keyPrefixes: [COPIED_PREFIX] }),
      ];
    case 'events':
      return [
        allow({
          actions: ['events:PutEvents'],
          on: [resources.bus.arn],
          conditions: { StringEquals: { 'events:source': EVENT_SOURCE } },
        }),
      ];
    case 'tokens':
      return [
        allow({ actions: ['states:SendTaskSuccess', 'states:SendTaskFailure', 'states:SendTaskHeartbeat'], on: ['*'] }),
      ];
    case 'timers':
      return timerStatements(need.access, resources);
    case 'executions':
      return executionStatements(need.machines, resources);
    case 'sandboxes':
      return sandboxStatements(need.access, made(resources.sandboxes, 'what sandboxes are launched with'));
    case 'channel':
      return need.access === 'call' ? callStatements(resources) : jobStatements(resources);
    case 'staticMachines':
      return resources.staticHosts.length === 0 ? [] : callStatements(resources);
    case 'guestCalls':
    case 'modules':
    case 'workspace':
    case 'policy':
      return [];
  }
}

/** Rights that one need stands for and that are too long to stand inside its role: each a managed policy. */
export function policiesOf(need: Need, { sandboxes }: HostResources): NamedPolicies {
  if (need.port !== 'sandboxes' || need.access !== 'launch') return {};
  return launchPolicies({ ...made(sandboxes?.launch, 'the launch templates'), imageTag: IMAGE_TAG });
}

type SandboxAccess = Extract<Need, { port: 'sandboxes' }>['access'];

function sandboxStatements(access: SandboxAccess, sandboxes: SandboxResources): readonly PolicyStatement[] {
  const { stage } = sandboxes;
  switch (access) {
    case 'launch':
    case 'describe':
      return describeStatements();
    case 'release':
      return terminateStatements(stage);
    case 'evidence':
      return evidenceStatements(stage);
    case 'offer':
      return [];
  }
}

/** Commands by our documents on our sandboxes; what they say and answer lies in objects of the attempt. */
function jobStatements({ buckets, sandboxes }: HostResources): readonly PolicyStatement[] {
  const { stage, documentNames } = made(sandboxes, 'the documents that drive sandboxes');
  return [
    ...sendCommandStatements({ stage, documentNames }),
    ...objectStatements(buckets.artifacts, { access: 'write', keyPrefixes: [GUEST_PREFIX] }),
    ...removalStatements(buckets.artifacts, [GUEST_PREFIX]),
  ];
}

function callStatements({ callGuestAliasArn }: HostResources): readonly PolicyStatement[] {
  return [
    allow({ actions: ['lambda:InvokeFunction'], on: [made(callGuestAliasArn, 'the function that calls guests')] }),
  ];
}

interface Allowed {
  readonly actions: readonly string[];
  readonly on: readonly string[];
  readonly conditions?: PolicyStatementProps['conditions'];
}

export function allow({ actions, on, conditions }: Allowed): PolicyStatement {
  return new PolicyStatement({
    actions: [...actions],
    resources: [...on],
    ...(conditions === undefined ? {} : { conditions }),
  });
}

interface ObjectAccess {
  readonly access: 'read' | 'write';
  readonly keyPrefixes: readonly string[];
}

function artifactStatements(
  { access, keyPrefixes }: Extract<Need, { port: 'artifacts' }>,
  bucket: BucketResource,
): readonly PolicyStatement[] {
  switch (access) {
    case 'deposit':
      return depositStatements(bucket, keyPrefixes);
    case 'remove':
      return removalStatements(bucket, keyPrefixes);
    case 'read':
    case 'write':
      return objectStatements(bucket, { access, keyPrefixes });
  }
}

function objectStatements(bucket: BucketResource, { access, keyPrefixes }: ObjectAccess): readonly PolicyStatement[] {
  const writes = access === 'write' ? OBJECT_WRITES : [];
  const keyWrites = access === 'write' ? ['kms:GenerateDataKey'] : [];
  return [
    allow({ actions: ['s3:GetObject', ...writes], on: objectArns(bucket, keyPrefixes) }),
    listing(bucket, keyPrefixes, 'StringLikeIfExists'),
    allow({ actions: ['kms:Decrypt', ...keyWrites], on: [bucket.keyArn] }),
  ];
}

/** Adds without being able to read or remove what is there: references and solutions are for their stagers alone. */
function depositStatements(bucket: BucketResource, keyPrefixes: readonly string[]): readonly PolicyStatement[] {
  return [
    allow({ actions: ['s3:PutObject'], on: objectArns(bucket, keyPrefixes) }),
    listing(bucket, keyPrefixes),
    allow({ actions: ['kms:GenerateDataKey'], on: [bucket.keyArn] }),
  ];
}

function removalStatements(bucket: BucketResource, keyPrefixes: readonly string[]): readonly PolicyStatement[] {
  return [allow({ actions: ['s3:DeleteObject'], on: objectArns(bucket, keyPrefixes) }), listing(bucket, keyPrefixes)];
}

function objectArns(bucket: BucketResource, keyPrefixes: readonly string[]): readonly string[] {
  return keyPrefixes.map((prefix) => `${bucket.arn}/${prefix}*`);
}

/**
 * Of a missing object S3 says 404 to who may list its bucket and 403 to others, and what asks for one object has no prefix: who
 * reads may therefore also list without one, and learns names of keys but no content. Who only adds or removes may not.
 */
function listing(
  bucket: BucketResource,
  keyPrefixes: readonly string[],
  operator: 'StringLike' | 'StringLikeIfExists' = 'StringLike',
): PolicyStatement {
  return allow({
    actions: ['s3:ListBucket'],
    on: [bucket.arn],
    conditions: { [operator]: { 's3:prefix': keyPrefixes.map((prefix) => `${prefix}*`) } },
  });
}

function timerStatements(access: 'create' | 'remove', { schedules }: HostResources): readonly PolicyStatement[] {
  const remove = ['scheduler:GetSchedule', 'scheduler:DeleteSchedule'];
  if (access === 'remove') return [allow({ actions: remove, on: [schedules.scheduleArns] })];
  return [
    allow({ actions: [...remove, 'scheduler:CreateSchedule'], on: [schedules.scheduleArns] }),
    allow({
      actions: ['iam:PassRole'],
      on: [made(schedules.roleArn, 'the role of schedules')],
      conditions: { StringEquals: { 'iam:PassedToService': 'scheduler.amazonaws.com' } },
    }),
  ];
}

/** A start that comes again is compared with the execution that has its name. */
function executionStatements(
  names: readonly ('sweep' | 'grade')[],
  { machines }: HostResources,
): readonly PolicyStatement[] {
  const named = names.map((name) => made(machines[name], `the ${name} machine`));
  return [
    allow({ actions: ['states:StartExecution'], on: named.map(({ aliasArn }) => aliasArn) }),
    allow({ actions: ['states:DescribeExecution'], on: named.map(({ executionArns }) => executionArns) }),
  ];
}
