import { ListCostAllocationTagsCommand } from '@aws-sdk/client-cost-explorer';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { DescribeRouteTablesCommand, DescribeVpcEndpointsCommand } from '@aws-sdk/client-ec2';
import { DescribeEventBusCommand } from '@aws-sdk/client-eventbridge';
import { DescribeKeyCommand } from '@aws-sdk/client-kms';
import { GetBucketEncryptionCommand, GetPublicAccessBlockCommand, HeadBucketCommand } from '@aws-sdk/client-s3';
import { GetScheduleGroupCommand } from '@aws-sdk/client-scheduler';
import { GetServiceQuotaCommand } from '@aws-sdk/client-service-quotas';
import { DescribeStateMachineAliasCommand } from '@aws-sdk/client-sfn';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deployChecks } from '#cli/remote/deploy-check-all';
import { FUNCTIONS } from '#contracts/functions';
import { answerWhole, clients, ENV, named, outputs, routeTable, TO_INTERNET, TO_S3 } from './deployed-stage.ts';

const SETTINGS = 'infra/config/stages/example.json';
const RESERVED = FUNCTIONS.reduce((sum, { reservedConcurrency = 0 }) => sum + reservedConcurrency, 0);

beforeEach(() => {
  Object.assign(process.env, ENV);
  answerWhole();
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

function keyOf(bucket: string, keyId: string): void {
  clients.s3.on(GetBucketEncryptionCommand, { Bucket: bucket }).resolves({
    ServerSideEncryptionConfiguration: {
      Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: keyId } }],
    },
  });
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
  'key artifacts': 'pass',
  'key tasks': 'pass',
  'key references': 'pass',
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

  it('compares the routes of an existing VPC, in that VPC alone', async () => {
    clients.ec2.on(DescribeRouteTablesCommand).resolves({
      RouteTables: [routeTable('a', TO_INTERNET), routeTable('b', TO_S3), routeTable('c', TO_INTERNET)],
    });
    const checks = await deployChecks({ stage: 'example', settings: SETTINGS, timeout: 1 }, ENV);
    const routes = checks.filter(({ name }) => name === 'routes');
    expect(routes).toMatchObject([{ state: 'fail' }]);
    expect(routes[0]?.found).toContain('(grader) has no s3-gateway, which a grader needs');
    expect(routes[0]?.found).toContain('(grader) has internet-gateway (0.0.0.0/0 by igw-0abc)');
    const asked = clients.ec2.commandCalls(DescribeRouteTablesCommand).map(({ args: [{ input }] }) => input.Filters);
    expect(asked).toEqual([[{ Name: 'vpc-id', Values: ['vpc-0123456789abcdef0'] }]]);
  });

  it('says which right is lacking where it may not look at routes', async () => {
    clients.ec2.on(DescribeVpcEndpointsCommand).rejects(named('UnauthorizedOperation'));
    const checks = await deployChecks({ stage: 'example', settings: SETTINGS, timeout: 1 }, ENV);
    const routes = checks.filter(({ name }) => name === 'routes');
    expect(routes).toMatchObject([{ state: 'unverified' }]);
    expect(routes[0]?.remedy).toContain('ec2:DescribeVpcEndpoints');
  });

  const faults: readonly (readonly [what: string, name: string, state: string, breakIt: () => void])[] = [
    [
      'a quota below the cap',
      'quota L-1216C47A',
      'fail',
      () => clients.quotas.on(GetServiceQuotaCommand, { QuotaCode: 'L-1216C47A' }).resolves({ Quota: { Value: 399 } }),
    ],
    [
      'a quota below what functions reserve and the 100 that Lambda keeps',
      'quota L-B99A9384',
      'fail',
      () =>
        clients.quotas
          .on(GetServiceQuotaCommand, { QuotaCode: 'L-B99A9384' })
          .resolves({ Quota: { Value: RESERVED + 99 } }),
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
      'a key that is to be deleted',
      'key tasks',
      'fail',
      () => {
        keyOf('example-tasks', 'key-2');
        clients.kms.on(DescribeKeyCommand, { KeyId: 'key-2' }).resolves({
          KeyMetadata: { KeyId: 'key-2', KeyState: 'PendingDeletion' },
        });
      },
    ],
    [
      'a key that is gone',
      'key references',
      'fail',
      () => {
        keyOf('example-references', 'key-2');
        clients.kms.on(DescribeKeyCommand, { KeyId: 'key-2' }).rejects(named('NotFoundException'));
      },
    ],
    [
      'no right to see a key',
      'key artifacts',
      'unverified',
      () => {
        keyOf('example-artifacts', 'key-2');
        clients.kms.on(DescribeKeyCommand, { KeyId: 'key-2' }).rejects(named('AccessDeniedException'));
      },
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

  it('finds a bucket without a key of ours, and so no key to look at', async () => {
    clients.s3.on(GetBucketEncryptionCommand, { Bucket: 'example-artifacts' }).resolves({});
    expect(await statesOf()).toEqual({ ...whole, 'bucket artifacts': 'fail', 'key artifacts': 'unverified' });
  });

  it('is content with exactly the executions that are needed', async () => {
    clients.quotas
      .on(GetServiceQuotaCommand, { QuotaCode: 'L-B99A9384' })
      .resolves({ Quota: { Value: RESERVED + 100 } });
    expect(RESERVED).toBeGreaterThan(0);
    expect(await statesOf()).toEqual(whole);
  });

  it('says of a stage without settings, too, that nobody looked at images', async () => {
    const checks = await deployChecks({ stage: 'example', timeout: 1 }, { ...ENV, EXAMHALL_TOKEN: 'x' });
    expect(checks.filter(({ name }) => name === 'images')).toMatchObject([{ state: 'unverified' }]);
    expect(checks.map(({ name }) => name)).not.toContain('routes');
  });

  it('stops at credentials that AWS does not take', async () => {
    clients.sts.on(GetCallerIdentityCommand).rejects(named('ExpiredToken', 'The security token is expired'));
    expect(await statesOf()).toMatchObject({ identity: 'fail' });
    expect(clients.ssm.calls()).toEqual([]);
  });

  it('goes on without the resources of a stage that is not deployed', async () => {
    clients.ssm.on(GetParameterCommand).rejects(named('ParameterNotFound'));
    const states = await statesOf();
    // With settings it may be the look before a first deploy.
    expect(states).toMatchObject({
      deployment: 'warn',
      'quota L-B99A9384': 'pass',
      routes: 'pass',
      'cost tags': 'pass',
    });
    expect(Object.keys(states)).not.toContain('table');
    const alone = await deployChecks({ stage: 'example', timeout: 1 }, { ...ENV, EXAMHALL_TOKEN: 'x' });
    expect(alone.find(({ name }) => name === 'deployment')).toMatchObject({ state: 'fail' });
  });
});
