import {
  CloudFormationClient,
  DeleteStackCommand,
  DescribeStacksCommand,
  ListStackResourcesCommand,
  ListStacksCommand,
  UpdateTerminationProtectionCommand,
  waitUntilStackDeleteComplete,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';
import { CloudWatchLogsClient, DeleteLogGroupCommand } from '@aws-sdk/client-cloudwatch-logs';
import { DeleteTableCommand, DynamoDBClient, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { KMSClient, ScheduleKeyDeletionCommand } from '@aws-sdk/client-kms';
import { DeleteBucketCommand, DeleteObjectsCommand, ListObjectVersionsCommand, S3Client } from '@aws-sdk/client-s3';

/** What every client here is made with; the credentials come from the usual chain unless told. */
export interface CloudConfig {
  readonly region: string;
  readonly endpoint?: string;
  readonly maxAttempts?: number;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** Something that is still there, and why. */
export interface Leftover {
  readonly what: string;
  readonly why: string;
}

/** Days that KMS keeps a key it was told to delete, at least. */
const KEY_PENDING_DAYS = 7;
/** How long to look for the end of a stack, in seconds: the interfaces of a function in a network may take most of an hour to go. */
interface Patience {
  readonly maxWaitTime: number;
  readonly minDelay?: number;
  readonly maxDelay?: number;
}
const PATIENCE: Patience = { maxWaitTime: 3600 };

/**
 * Removes stacks, in the order given, and then what they keep on purpose (`REMOVERS`): buckets with every version in them,
 * tables, keys, logs. Whatever is in `LEFT_ALONE` stays.
 * Goes on after a failure; what is not there is gone. What a stack kept that was deleted before is asked of CloudFormation, which
 * knows deleted stacks for 90 days: whoever was killed on the way can begin again. @returns what could not be removed.
 */
export async function tearDown(
  stackNames: readonly string[],
  config: CloudConfig,
  patience: Patience = PATIENCE,
): Promise<readonly Leftover[]> {
  const cloud = new CloudFormationClient(config);
  const left: Leftover[] = [];
  const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    await work().catch((error: unknown) => {
      if (!/does not exist/u.test(String(error))) left.push({ what, why: String(error) });
    });
  };
  const kept: StackResourceSummary[] = [];
  await attempt('stacks that were deleted before', async () => {
    for (const id of await deletedStacks(cloud, stackNames)) kept.push(...(await resourcesOf(cloud, id)));
  });
  for (const name of stackNames) {
    await attempt(`stack ${name}`, async () => {
      kept.push(...(await resourcesOf(cloud, name)));
      await unprotect(cloud, name);
      await cloud.send(new DeleteStackCommand({ StackName: name }));
      await waitUntilStackDeleteComplete({ client: cloud, ...patience }, { StackName: name });
    });
  }
  for (const { ResourceType, PhysicalResourceId: id } of kept) {
    const remove = ResourceType === undefined ? undefined : REMOVERS[ResourceType];
    if (remove !== undefined && id !== undefined)
      await attempt(`${String(ResourceType)} ${id}`, () => remove(id, config));
  }
  return left;
}

async function unprotect(cloud: CloudFormationClient, StackName: string): Promise<void> {
  const { Stacks: [stack] = [] } = await cloud.send(new DescribeStacksCommand({ StackName }));
  if (stack?.EnableTerminationProtection !== true) return;
  await cloud.send(new UpdateTerminationProtectionCommand({ StackName, EnableTerminationProtection: false }));
}

/** What a stack keeps that is deleted here, by type. */
export const REMOVERS: Readonly<Record<string, (id: string, config: CloudConfig) => Promise<void>>> = {
  'AWS::S3::Bucket': unlessGone(emptyAndDeleteBucket),
  'AWS::DynamoDB::Table': unlessGone(deleteTable),
  'AWS::KMS::Key': unlessGone(deleteKey),
  'AWS::Logs::LogGroup': unlessGone(deleteLogGroup),
};

/** What a stack keeps that needs no deleting, by type, each with the reason. */
export const LEFT_ALONE: Readonly<Record<string, string>> = {
  'AWS::Lambda::Version': 'goes with its function',
  'AWS::StepFunctions::StateMachineVersion': 'goes with its machine',
  'AWS::ApiGateway::Account': 'is one setting of the account and region, which others may use by now',
  'AWS::IAM::Role': 'is the role that this setting of the account names',
};

/** Ids of stacks that had these names: a deleted one has no name any more. */
async function deletedStacks(cloud: CloudFormationClient, names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  let NextToken: string | undefined;
  do {
    const page = await cloud.send(new ListStacksCommand({ StackStatusFilter: ['DELETE_COMPLETE'], NextToken }));
    const ours = (page.StackSummaries ?? []).filter(({ StackName = '' }) => names.includes(StackName));
    found.push(...ours.flatMap(({ StackId }) => StackId ?? []));
    NextToken = page.NextToken;
  } while (NextToken !== undefined);
  return found;
}

async function resourcesOf(cloud: CloudFormationClient, stack: string): Promise<readonly StackResourceSummary[]> {
  const found: StackResourceSummary[] = [];
  let NextToken: string | undefined;
  do {
    const page = await cloud.send(new ListStackResourcesCommand({ StackName: stack, NextToken }));
    found.push(...(page.StackResourceSummaries ?? []));
    NextToken = page.NextToken;
  } while (NextToken !== undefined);
  return found;
}

const GONE = /^(?:NoSuchBucket|ResourceNotFoundException|NotFoundException|KMSInvalidStateException)$/u;

function unlessGone(
  remove: (id: string, config: CloudConfig) => Promise<void>,
): (id: string, config: CloudConfig) => Promise<void> {
  return async (id, config) => {
    await remove(id, config).catch((error: unknown) => {
      if (!(error instanceof Error && GONE.test(error.name))) throw error;
    });
  };
}

async function emptyAndDeleteBucket(Bucket: string, config: CloudConfig): Promise<void> {
  const s3 = new S3Client({ ...config, forcePathStyle: config.endpoint !== undefined });
  for (;;) {
    const page = await s3.send(new ListObjectVersionsCommand({ Bucket }));
    const Objects = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].flatMap(({ Key, VersionId }) =>
      Key === undefined ? [] : [{ Key, VersionId }],
    );
    if (Objects.length === 0) break;
    const { Errors = [] } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }));
    if (Errors.length > 0)
      throw new Error(`${String(Errors.length)} objects stay, the first: ${String(Errors[0]?.Message)}`);
  }
  await s3.send(new DeleteBucketCommand({ Bucket }));
}

async function deleteTable(TableName: string, config: CloudConfig): Promise<void> {
  const dynamo = new DynamoDBClient(config);
  await dynamo.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
  await dynamo.send(new DeleteTableCommand({ TableName }));
}

async function deleteLogGroup(logGroupName: string, config: CloudConfig): Promise<void> {
  await new CloudWatchLogsClient(config).send(new DeleteLogGroupCommand({ logGroupName }));
}

async function deleteKey(KeyId: string, config: CloudConfig): Promise<void> {
  await new KMSClient(config).send(new ScheduleKeyDeletionCommand({ KeyId, PendingWindowInDays: KEY_PENDING_DAYS }));
}
