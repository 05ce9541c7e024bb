import { CostExplorerClient, ListCostAllocationTagsCommand } from '@aws-sdk/client-cost-explorer';
import {
  DescribeRouteTablesCommand,
  DescribeSubnetsCommand,
  DescribeVpcEndpointsCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { DescribeContinuousBackupsCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DescribeEventBusCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { DescribeKeyCommand, KMSClient } from '@aws-sdk/client-kms';
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
import { DeploymentOutputsSchema } from '#contracts/deployment-outputs';
import { FINANCE_TAGS } from '../../../../infra/constructs/sandbox-tags.ts';

/** The clients that `deploy-check` makes, faked. */
export const clients = {
  sts: mockClient(STSClient),
  ssm: mockClient(SSMClient),
  quotas: mockClient(ServiceQuotasClient),
  costs: mockClient(CostExplorerClient),
  ec2: mockClient(EC2Client),
  table: mockClient(DynamoDBClient),
  s3: mockClient(S3Client),
  kms: mockClient(KMSClient),
  sfn: mockClient(SFNClient),
  bus: mockClient(EventBridgeClient),
  scheduler: mockClient(SchedulerClient),
};
/** Where the fakes are asked as. */
export const ENV = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_REGION: 'eu-central-1',
  AWS_EC2_METADATA_DISABLED: 'true',
};
/** What the stage tells of itself. */
export const outputs = DeploymentOutputsSchema.parse({
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

/** An error as AWS gives it. */
export const named = (name: string, message = name): Error => Object.assign(new Error(message), { name });

/** What EC2 says of a table of the example: its subnets `a` and `b`, and one route besides that of the network itself. */
export const routeTable = (letter: string, route: object) => ({
  RouteTableId: `rtb-0${letter}0000000000000${letter}0`,
  Associations: ['a', 'b'].map((zone) => ({ SubnetId: `subnet-0${letter}00000000000000${zone}`, Main: false })),
  Routes: [
    { DestinationCidrBlock: '10.0.0.0/16', GatewayId: 'local', State: 'active' as const },
    { State: 'active' as const, ...route },
  ],
});
export const TO_INTERNET = { DestinationCidrBlock: '0.0.0.0/0', GatewayId: 'igw-0abc' };
export const TO_S3 = { DestinationPrefixListId: 'pl-0123', GatewayId: 'vpce-0aaa' };

/** The network of the example, as its settings promise it. */
function answerNetwork(): void {
  clients.ec2.on(DescribeRouteTablesCommand).resolves({
    RouteTables: [routeTable('a', TO_INTERNET), routeTable('b', TO_S3), routeTable('c', TO_S3)],
  });
  clients.ec2.on(DescribeSubnetsCommand).resolves({
    Subnets: ['a', 'b', 'c'].flatMap((letter) =>
      ['a', 'b'].map((zone) => ({
        SubnetId: `subnet-0${letter}00000000000000${zone}`,
        AvailabilityZone: `eu-central-1${zone}`,
      })),
    ),
  });
  const service = (name: string) => ({
    VpcEndpointId: `vpce-${name}`,
    ServiceName: `com.amazonaws.eu-central-1.${name}`,
    VpcEndpointType: 'Interface' as const,
    State: 'Available' as const,
    PrivateDnsEnabled: true,
    Groups: [{ GroupId: 'sg-0d0000000000000d0' }],
  });
  clients.ec2.on(DescribeVpcEndpointsCommand).resolves({
    VpcEndpoints: [
      { ...service('s3'), VpcEndpointId: 'vpce-0aaa', VpcEndpointType: 'Gateway', Groups: [] },
      service('ssm'),
      service('ssmmessages'),
    ],
  });
}

/** Every client answers as for a stage without fault. */
export function answerWhole(): void {
  for (const client of Object.values(clients)) client.reset();
  answerNetwork();
  clients.sts
    .on(GetCallerIdentityCommand)
    .resolves({ Account: '111122223333', Arn: 'arn:aws:sts::111122223333:assumed-role/ops/me' });
  clients.ssm.on(GetParameterCommand).resolves({ Parameter: { Value: JSON.stringify(outputs) } });
  clients.quotas.on(GetServiceQuotaCommand).resolves({ Quota: { Value: 1000 } });
  clients.costs.on(ListCostAllocationTagsCommand).resolves({
    CostAllocationTags: FINANCE_TAGS.map((TagKey) => ({
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
  clients.kms.on(DescribeKeyCommand).resolves({ KeyMetadata: { KeyId: 'key-1', KeyState: 'Enabled' } });
  clients.scheduler.on(GetScheduleGroupCommand).resolves({ State: 'ACTIVE' });
}
