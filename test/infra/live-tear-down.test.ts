import { createServer, request as forward } from 'node:http';
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

/** The emulator takes its time for the first stack. */
const SLOW_MS = 300_000;

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

it(
  'everything that the stacks keep is removed by the live test, or left with a reason',
  () => {
    const { stacks } = appForTests().app.synth();
    const kept = stacks.flatMap(({ template }) =>
      Object.values((template as { readonly Resources: Record<string, Resource> }).Resources).flatMap((resource) =>
        resource.DeletionPolicy === 'Retain' ? [resource.Type] : [],
      ),
    );
    expect(new Set(kept).size).toBeGreaterThan(4);
    const known = [...Object.keys(REMOVERS), ...Object.keys(LEFT_ALONE)];
    expect([...new Set(kept)].filter((type) => !known.includes(type))).toEqual([]);
  },
  SLOW_MS,
);

type Config = MotoServer['clientConfig'];

/** @returns the id of the key. */
async function deploy(config: Config, StackName = 'live-data'): Promise<string> {
  const s3 = new S3Client({ ...config, forcePathStyle: true });
  const cloud = new CloudFormationClient(config);
  await cloud.send(new CreateStackCommand({ StackName, TemplateBody: TEMPLATE }));
  const { StackResources = [] } = await cloud.send(new DescribeStackResourcesCommand({ StackName }));
  for (const Body of ['one', 'two']) await s3.send(new PutObjectCommand({ Bucket: 'live-records', Key: 'a', Body }));
  return StackResources.find(({ ResourceType }) => ResourceType === 'AWS::KMS::Key')?.PhysicalResourceId ?? '';
}

const NOTHING = { buckets: [], tables: [], key: 'PendingDeletion', logGroups: [] };

async function leftIn(config: Config, KeyId: string): Promise<unknown> {
  const { Buckets = [] } = await new S3Client({ ...config, forcePathStyle: true }).send(new ListBucketsCommand({}));
  const { TableNames } = await new DynamoDBClient(config).send(new ListTablesCommand({}));
  const key = await new KMSClient(config).send(new DescribeKeyCommand({ KeyId }));
  const { logGroups } = await new CloudWatchLogsClient(config).send(new DescribeLogGroupsCommand({}));
  return { buckets: Buckets, tables: TableNames, key: key.KeyMetadata?.KeyState, logGroups };
}

/** For whom the door is shut a stack never ends. */
const SOON = { maxWaitTime: 2, minDelay: 1, maxDelay: 1 };

/** A door to an endpoint that lets so many requests through, and then nobody any more: for the other side its caller was killed. */
async function openDoor(
  endpoint: string,
  requests: number,
): Promise<{ readonly endpoint: string; close(): Promise<void> }> {
  let passed = 0;
  const server = createServer((request, response) => {
    if (passed >= requests) {
      request.socket.destroy();
      return;
    }
    passed += 1;
    const { method, headers } = request;
    const onward = forward(new URL(request.url ?? '/', endpoint), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the door has no port');
  return {
    endpoint: `http://127.0.0.1:${String(address.port)}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

tier('moto')('tearing a live deployment down', () => {
  let moto: MotoServer;
  beforeAll(async () => {
    moto = await startMotoServer();
  });
  afterAll(async () => {
    await moto.stop();
  });

  it(
    'removes stacks and everything they keep, every version of every object included',
    async () => {
      const config = moto.clientConfig;
      const keyId = await deploy(config);

      expect(await tearDown(['live-data'], config)).toEqual([]);

      expect(await leftIn(config, keyId)).toEqual(NOTHING);
    },
    SLOW_MS,
  );

  it(
    'can be begun again wherever it was killed, and then leaves nothing',
    async () => {
      const direct = moto.clientConfig;
      let boundaries = 0;
      for (let requests = 0; ; requests += 1) {
        const stack = `live-data-${String(requests)}`;
        const keyId = await deploy(direct, stack);
        const door = await openDoor(direct.endpoint, requests);
        const left = await tearDown([stack], { ...direct, endpoint: door.endpoint, maxAttempts: 1 }, SOON);
        await door.close();
        if (left.length > 0) boundaries += 1;
        expect(await tearDown([stack], direct)).toEqual([]);
        expect([requests, await leftIn(direct, keyId)]).toEqual([requests, NOTHING]);
        if (left.length === 0) break;
      }
      expect(boundaries).toBeGreaterThan(10);
    },
    SLOW_MS,
  );

  it('takes a stack that is not there for gone, and names what it could not remove', async () => {
    expect(await tearDown(['no-such-stack'], moto.clientConfig)).toEqual([]);
    const nowhere = { ...moto.clientConfig, endpoint: 'http://127.0.0.1:9', maxAttempts: 1 };
    expect(await tearDown(['live-data'], nowhere)).toMatchObject([
      { what: 'stacks that were deleted before' },
      { what: 'stack live-data' },
    ]);
  });
});
