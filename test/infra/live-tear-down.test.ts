import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStackResourcesCommand,
} from '@aws-sdk/client-cloudformation';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { DescribeKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { ListBucketsCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { tearDown } from '#test/live/tear-down';
import { tier } from '#test/runner/tier';

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
    Key: { Type: 'AWS::KMS::Key', DeletionPolicy: 'Retain', Properties: { KeyPolicy: {} } },
  },
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
  });

  it('goes on after a stack that is not there, and names it', async () => {
    const left = await tearDown(['no-such-stack'], moto.clientConfig);
    expect(left).toMatchObject([{ what: 'stack no-such-stack' }]);
  });
});
