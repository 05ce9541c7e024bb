import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStackResourcesCommand,
} from '@aws-sdk/client-cloudformation';
import { CloudWatchLogsClient, DescribeLogGroupsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DescribeKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { ListBucketsCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { LEFT_ALONE, REMOVERS, tearDown } from '#test/live/tear-down';
import { tier } from '#test/runner/tier';
import { appForTests } from './synth.ts';

interface Resource {
  readonly Type: string;
  readonly DeletionPolicy?: string;
}

/** As the data stack keeps things: retained, versioned, protected. */
const TEMPLATE = JSON.stringify({
  Resources: {
    Bucket: {
      Type: 'AWS::S3::Bucket',
      DeletionPolicy: 'Retain',
      Properties: { BucketName: 'live-records', VersioningConfiguration: { Status: 'Enabled' } },
    },
    Table: {
      Type: 'AWS::DynamoDB::Table',
      DeletionPolicy: 'Retain',
      Properties: {
        TableName: 'live-rows',
        BillingMode: 'PAY_PER_REQUEST',
        DeletionProtectionEnabled: true,
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      },
    },
    Logs: { Type: 'AWS::Logs::LogGroup', DeletionPolicy: 'Retain', Properties: { LogGroupName: 'live-log' } },
    Key: { Type: 'AWS::KMS::Key', DeletionPolicy: 'Retain', Properties: { KeyPolicy: {} } },
  },
});

it('everything that the stacks keep is removed by the live test, or left with a reason', () => {
  const { stacks } = appForTests().app.synth();
  const kept = stacks.flatMap(({ template }) =>
    Object.values((template as { readonly Resources: Record<string, Resource> }).Resources).flatMap((resource) =>
      resource.DeletionPolicy === 'Retain' ? [resource.Type] : [],
    ),
  );
  expect(new Set(kept).size).toBeGreaterThan(4);
  const known = [...Object.keys(REMOVERS), ...Object.keys(LEFT_ALONE)];
  expect([...new Set(kept)].filter((type) => !known.includes(type))).toEqual([]);
});

tier('moto')('tearing a live deployment down', () => {
  let moto: MotoServer;
  beforeAll(async () => {
    moto = await startMotoServer();
  });
  afterAll(async () => {
    await moto.stop();
  });

  it('removes stacks and everything they keep, every version of every object included', async () => {
    const config = moto.clientConfig;
    const s3 = new S3Client({ ...config, forcePathStyle: true });
    const cloud = new CloudFormationClient(config);
    await cloud.send(new CreateStackCommand({ StackName: 'live-data', TemplateBody: TEMPLATE }));
    const { StackResources = [] } = await cloud.send(new DescribeStackResourcesCommand({ StackName: 'live-data' }));
    const keyId = StackResources.find(({ ResourceType }) => ResourceType === 'AWS::KMS::Key')?.PhysicalResourceId;
    for (const Body of ['one', 'two']) await s3.send(new PutObjectCommand({ Bucket: 'live-records', Key: 'a', Body }));

    expect(await tearDown(['live-data'], config)).toEqual([]);

    expect((await s3.send(new ListBucketsCommand({}))).Buckets ?? []).toEqual([]);
    expect((await new DynamoDBClient(config).send(new ListTablesCommand({}))).TableNames).toEqual([]);
    const key = await new KMSClient(config).send(new DescribeKeyCommand({ KeyId: keyId }));
    expect(key.KeyMetadata?.KeyState).toBe('PendingDeletion');
    const { logGroups } = await new CloudWatchLogsClient(config).send(new DescribeLogGroupsCommand({}));
    expect(logGroups).toEqual([]);
  });

  it('takes a stack that is not there for gone, and names what it could not remove', async () => {
    expect(await tearDown(['no-such-stack'], moto.clientConfig)).toEqual([]);
    const nowhere = { ...moto.clientConfig, endpoint: 'http://127.0.0.1:9', maxAttempts: 1 };
    expect(await tearDown(['live-data'], nowhere)).toMatchObject([{ what: 'stack live-data' }]);
  });
});
