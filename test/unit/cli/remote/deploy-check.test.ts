import { CostExplorerClient, ListCostAllocationTagsCommand } from '@aws-sdk/client-cost-explorer';
import { DescribeContinuousBackupsCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DescribeEventBusCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import {
  GetBucketEncryptionCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { GetScheduleGroupCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import { GetServiceQuotaCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { DescribeStateMachineAliasCommand, SFNClient } from '@aws-sdk/client-sfn';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deployChecks } from '#cli/remote/deploy-check-all';
import { apiChecks } from '#cli/remote/deploy-check-api';
import { DeploymentOutputsSchema } from '#contracts/deployment-outputs';
import { SANDBOX_TAGS, STAGE_TAG } from '../../../../infra/constructs/sandbox-tags.ts';
import { clientOf, problem, startFakeApi, type FakeApi } from './fake-api.ts';

const clients = {
  sts: mockClient(STSClient),
  ssm: mockClient(SSMClient),
  quotas: mockClient(ServiceQuotasClient),
  costs: mockClient(CostExplorerClient),
  table: mockClient(DynamoDBClient),
  s3: mockClient(S3Client),
  sfn: mockClient(SFNClient),
  bus: mockClient(EventBridgeClient),
  scheduler: mockClient(SchedulerClient),
};
const ENV = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_REGION: 'eu-central-1',
  AWS_EC2_METADATA_DISABLED: 'true',
};
const SETTINGS = 'infra/config/stages/example.json';
const outputs = DeploymentOutputsSchema.parse({
  version: 1,
  stage: 'example',
  region: 'eu-central-1',
  accountId: '111122223333',
  // Nothing listens there, so that the API fails at once.
  apiUrl: 'http://127.0.0.1:1/prod',
  tableName: 'example-table',
  buckets: { artifacts: 'example-artifacts', tasks: 'example-tasks', references: 'example-references' },
  eventBusName: 'example-bus',
  scheduleGroupName: 'example-group',
  machines: {
    sweep: 'arn:aws:states:eu-central-1:111122223333:stateMachine:sweep:live',
    grade: 'arn:aws:states:eu-central-1:111122223333:stateMachine:grade:live',
  },
  versions: { examhall: '0.1.0', codeSha256: 'a'.repeat(64) },
});

const named = (name: string, message = name): Error => Object.assign(new Error(message), { name });

beforeEach(() => {
  Object.assign(process.env, ENV);
  for (const client of Object.values(clients)) client.reset();
  clients.sts
    .on(GetCallerIdentityCommand)
    .resolves({ Account: '111122223333', Arn: 'arn:aws:sts::111122223333:assumed-role/ops/me' });
  clients.ssm.on(GetParameterCommand).resolves({ Parameter: { Value: JSON.stringify(outputs) } });
  clients.quotas.on(GetServiceQuotaCommand).resolves({ Quota: { Value: 1000 } });
  clients.costs.on(ListCostAllocationTagsCommand).resolves({
    CostAllocationTags: [...SANDBOX_TAGS, STAGE_TAG].map((TagKey) => ({
      TagKey,
      Type: 'UserDefined',
      Status: 'Active',
    })),
  });
  clients.table
    .on(DescribeTableCommand)
    .resolves({ Table: { TableStatus: 'ACTIVE', DeletionProtectionEnabled: true } });
  clients.table.on(DescribeContinuousBackupsCommand).resolves({
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'ENABLED' },
    },
  });
  clients.s3.on(HeadBucketCommand).resolves({});
  clients.s3.on(GetBucketEncryptionCommand).resolves({
    ServerSideEncryptionConfiguration: {
      Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: 'key-1' } }],
    },
  });
  clients.s3.on(GetPublicAccessBlockCommand).resolves({
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
  });
  clients.sfn
    .on(DescribeStateMachineAliasCommand)
    .resolves({ routingConfiguration: [{ stateMachineVersionArn: 'arn:x:3', weight: 100 }] });
  clients.bus.on(DescribeEventBusCommand).resolves({ Name: 'example-bus' });
  clients.scheduler.on(GetScheduleGroupCommand).resolves({ State: 'ACTIVE' });
});
afterEach(() => {
  for (const name of Object.keys(ENV)) Reflect.deleteProperty(process.env, name);
});

/** State of each check by its name; the API is looked at apart. */
async function statesOf(): Promise<Readonly<Record<string, string>>> {
  const checks = await deployChecks(
    { stage: 'example', settings: SETTINGS, timeout: 1 },
    { ...ENV, EXAMHALL_TOKEN: 'x' },
  );
  expect(checks.length).toBeGreaterThan(0);
  for (const { state, remedy, name } of checks) expect([name, remedy === null]).toEqual([name, state === 'pass']);
  return Object.fromEntries(checks.filter(({ name }) => name !== 'api').map(({ name, state }) => [name, state]));
}

const whole = {
  settings: 'pass',
  routes: 'pass',
  images: 'unverified',
  caps: 'pass',
  identity: 'pass',
  deployment: 'pass',
  table: 'pass',
  'bucket artifacts': 'pass',
  'bucket tasks': 'pass',
  'bucket references': 'pass',
  'machine sweep': 'pass',
  'machine grade': 'pass',
  'event bus': 'pass',
  'schedule group': 'pass',
  'quota L-B99A9384': 'pass',
  'quota L-1216C47A': 'pass',
  'cost tags': 'pass',
};

describe('looking at a stage', () => {
  it('finds a whole one whole', async () => {
    expect(await statesOf()).toEqual(whole);
  });

  const faults: readonly (readonly [what: string, name: string, state: string, breakIt: () => void])[] = [
    [
      'a quota below the cap',
      'quota L-1216C47A',
      'fail',
      () => clients.quotas.on(GetServiceQuotaCommand, { QuotaCode: 'L-1216C47A' }).resolves({ Quota: { Value: 399 } }),
    ],
    [
      'a quota below what functions reserve',
      'quota L-B99A9384',
      'fail',
      () => clients.quotas.on(GetServiceQuotaCommand, { QuotaCode: 'L-B99A9384' }).resolves({ Quota: { Value: 10 } }),
    ],
    [
      'a tag that is not activated',
      'cost tags',
      'warn',
      () => clients.costs.on(ListCostAllocationTagsCommand).resolves({ CostAllocationTags: [] }),
    ],
    [
      'no right to see tags',
      'cost tags',
      'unverified',
      () => clients.costs.on(ListCostAllocationTagsCommand).rejects(named('AccessDeniedException')),
    ],
    [
      'no table',
      'table',
      'fail',
      () => clients.table.on(DescribeTableCommand).rejects(named('ResourceNotFoundException')),
    ],
    [
      'a table without protection',
      'table',
      'warn',
      () => clients.table.on(DescribeTableCommand).resolves({ Table: { TableStatus: 'ACTIVE' } }),
    ],
    [
      'no bucket',
      'bucket references',
      'fail',
      () => clients.s3.on(HeadBucketCommand, { Bucket: 'example-references' }).rejects(named('NotFound')),
    ],
    [
      'a public bucket',
      'bucket tasks',
      'fail',
      () => clients.s3.on(GetPublicAccessBlockCommand, { Bucket: 'example-tasks' }).resolves({}),
    ],
    [
      'a bucket with another key',
      'bucket artifacts',
      'fail',
      () => clients.s3.on(GetBucketEncryptionCommand, { Bucket: 'example-artifacts' }).resolves({}),
    ],
    [
      'no machine',
      'machine grade',
      'fail',
      () =>
        clients.sfn
          .on(DescribeStateMachineAliasCommand, { stateMachineAliasArn: outputs.machines.grade })
          .rejects(named('ResourceNotFound')),
    ],
    [
      'no right to see the bus',
      'event bus',
      'unverified',
      () => clients.bus.on(DescribeEventBusCommand).rejects(named('AccessDeniedException')),
    ],
    [
      'a schedule group that goes',
      'schedule group',
      'fail',
      () => clients.scheduler.on(GetScheduleGroupCommand).resolves({ State: 'DELETING' }),
    ],
    [
      'another version',
      'deployment',
      'warn',
      () =>
        clients.ssm.on(GetParameterCommand).resolves({
          Parameter: { Value: JSON.stringify({ ...outputs, versions: { ...outputs.versions, examhall: '9.9.9' } }) },
        }),
    ],
    [
      'outputs of another account',
      'deployment',
      'fail',
      () =>
        clients.ssm
          .on(GetParameterCommand)
          .resolves({ Parameter: { Value: JSON.stringify({ ...outputs, accountId: '999999999999' }) } }),
    ],
  ];

  it.each(faults.map(([what, name, state, breakIt]) => ({ what, name, state, breakIt })))(
    'finds $what, and that alone',
    async ({ name, state, breakIt }) => {
      breakIt();
      expect(await statesOf()).toEqual({ ...whole, [name]: state });
    },
  );

  it('stops at credentials that AWS does not take', async () => {
    clients.sts.on(GetCallerIdentityCommand).rejects(named('ExpiredToken', 'The security token is expired'));
    expect(await statesOf()).toMatchObject({ identity: 'fail' });
    expect(clients.ssm.calls()).toEqual([]);
  });

  it('goes on without the resources of a stage that is not deployed', async () => {
    clients.ssm.on(GetParameterCommand).rejects(named('ParameterNotFound'));
    const states = await statesOf();
    expect(states).toMatchObject({ deployment: 'fail', 'quota L-B99A9384': 'pass', 'cost tags': 'pass' });
    expect(Object.keys(states)).not.toContain('table');
  });
});

describe('looking at an API', () => {
  const open: FakeApi[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map(async (api) => await api.close()));
  });

  it('tells what the caller may read, and what there is, without changing anything', async () => {
    const api = await startFakeApi({
      listSweeps: () => ({ items: [], cursor: null }),
      getCosts: () => problem(403, 'AccessDeniedError'),
      listAgents: () => ({ items: [], cursor: null }),
      listTasks: () => ({ items: [], cursor: null }),
    });
    open.push(api);
    const checks = await apiChecks(clientOf(api));
    expect(checks.map(({ name, state }) => [name, state])).toEqual([
      ['api', 'pass'],
      ['role: costs', 'warn'],
      ['role: control, publish', 'unverified'],
      ['published', 'warn'],
    ]);
    expect(api.requests.every((request) => request.startsWith('GET '))).toBe(true);
  });

  it('ends with an API that does not let the caller in', async () => {
    const api = await startFakeApi({ listSweeps: () => problem(403, 'AccessDeniedError') });
    open.push(api);
    expect(await apiChecks(clientOf(api))).toMatchObject([{ name: 'api', state: 'fail' }]);
  });
});
