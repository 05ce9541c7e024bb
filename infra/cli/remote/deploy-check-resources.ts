import type { DeploymentOutputs } from '#contracts/deployment-outputs';
import { clientOptions, type AwsSession } from './aws-session.ts';
import { checked, fail, isAbsent, pass, warn, type DeployCheck } from './deploy-check.ts';

const DEPLOY_AGAIN = 'deploy the stage again (`npx cdk deploy --all -c stage=<stage>`)';

/** What the outputs of a stage name, looked at one by one. */
export async function resourceChecks(outputs: DeploymentOutputs, session: AwsSession): Promise<readonly DeployCheck[]> {
  const buckets = Object.entries(outputs.buckets).map(
    async ([name, bucket]) => await bucketCheck(name, bucket, session),
  );
  const machines = Object.entries(outputs.machines).map(async ([name, arn]) => await machineCheck(name, arn, session));
  return await Promise.all([
    tableCheck(outputs.tableName, session),
    ...buckets,
    ...machines,
    busCheck(outputs.eventBusName, session),
    scheduleGroupCheck(outputs.scheduleGroupName, session),
  ]);
}

async function tableCheck(name: string, session: AwsSession): Promise<DeployCheck> {
  const right = `dynamodb:DescribeTable and dynamodb:DescribeContinuousBackups on ${name}`;
  return await checked('table', right, async () => {
    const { DescribeContinuousBackupsCommand, DescribeTableCommand, DynamoDBClient } =
      await import('@aws-sdk/client-dynamodb');
    const client = new DynamoDBClient(clientOptions(session));
    try {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: name }));
      if (Table?.TableStatus !== 'ACTIVE')
        return fail(`${name} is ${Table?.TableStatus ?? 'unknown'}`, 'wait until it is ACTIVE');
      const { ContinuousBackupsDescription } = await client.send(
        new DescribeContinuousBackupsCommand({ TableName: name }),
      );
      const isBacked =
        ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === 'ENABLED';
      const lacks = [
        ...(isBacked ? [] : ['point-in-time recovery']),
        ...(Table.DeletionProtectionEnabled === true ? [] : ['deletion protection']),
      ];
      return lacks.length === 0
        ? pass(`${name} is active, with recovery and deletion protection`)
        : warn(`${name} is active without ${lacks.join(' and ')}`, DEPLOY_AGAIN);
    } catch (error) {
      if (isAbsent(error)) return fail(`there is no table ${name}`, DEPLOY_AGAIN);
      throw error;
    } finally {
      client.destroy();
    }
  });
}

async function bucketCheck(name: string, bucket: string, session: AwsSession): Promise<DeployCheck> {
  const right = `s3:ListBucket, s3:GetEncryptionConfiguration and s3:GetBucketPublicAccessBlock on ${bucket}`;
  return await checked(`bucket ${name}`, right, async () => {
    const { GetBucketEncryptionCommand, GetPublicAccessBlockCommand, HeadBucketCommand, S3Client } =
      await import('@aws-sdk/client-s3');
    const client = new S3Client(clientOptions(session));
    try {
      await client.send(new HeadBucketCommand({ Bucket: bucket }));
      const { ServerSideEncryptionConfiguration } = await client.send(
        new GetBucketEncryptionCommand({ Bucket: bucket }),
      );
      const rule = ServerSideEncryptionConfiguration?.Rules?.[0]?.ApplyServerSideEncryptionByDefault;
      const { PublicAccessBlockConfiguration: block } = await client.send(
        new GetPublicAccessBlockCommand({ Bucket: bucket }),
      );
      const isShut = [
        block?.BlockPublicAcls,
        block?.BlockPublicPolicy,
        block?.IgnorePublicAcls,
        block?.RestrictPublicBuckets,
      ].every((each) => each === true);
      if (!isShut) return fail(`${bucket} does not block public access`, DEPLOY_AGAIN);
      if (rule?.SSEAlgorithm !== 'aws:kms' || rule.KMSMasterKeyID === undefined)
        return fail(`${bucket} is not encrypted with a key of ours`, DEPLOY_AGAIN);
      return pass(`${bucket}, key ${rule.KMSMasterKeyID}`);
    } catch (error) {
      if (isAbsent(error)) return fail(`there is no bucket ${bucket}`, DEPLOY_AGAIN);
      throw error;
    } finally {
      client.destroy();
    }
  });
}

async function machineCheck(name: string, arn: string, session: AwsSession): Promise<DeployCheck> {
  return await checked(`machine ${name}`, `states:DescribeStateMachineAlias on ${arn}`, async () => {
    const { DescribeStateMachineAliasCommand, SFNClient } = await import('@aws-sdk/client-sfn');
    const client = new SFNClient(clientOptions(session));
    try {
      const { routingConfiguration = [] } = await client.send(
        new DescribeStateMachineAliasCommand({ stateMachineAliasArn: arn }),
      );
      return pass(
        `${arn} leads to version ${routingConfiguration.map(({ stateMachineVersionArn }) => stateMachineVersionArn?.split(':').at(-1) ?? '?').join(', ')}`,
      );
    } catch (error) {
      if (isAbsent(error)) return fail(`there is no alias ${arn}`, DEPLOY_AGAIN);
      throw error;
    } finally {
      client.destroy();
    }
  });
}

async function busCheck(name: string, session: AwsSession): Promise<DeployCheck> {
  return await checked('event bus', `events:DescribeEventBus on ${name}`, async () => {
    const { DescribeEventBusCommand, EventBridgeClient } = await import('@aws-sdk/client-eventbridge');
    const client = new EventBridgeClient(clientOptions(session));
    try {
      await client.send(new DescribeEventBusCommand({ Name: name }));
      return pass(name);
    } catch (error) {
      if (isAbsent(error)) return fail(`there is no event bus ${name}`, DEPLOY_AGAIN);
      throw error;
    } finally {
      client.destroy();
    }
  });
}

async function scheduleGroupCheck(name: string, session: AwsSession): Promise<DeployCheck> {
  return await checked('schedule group', `scheduler:GetScheduleGroup on ${name}`, async () => {
    const { GetScheduleGroupCommand, SchedulerClient } = await import('@aws-sdk/client-scheduler');
    const client = new SchedulerClient(clientOptions(session));
    try {
      const { State } = await client.send(new GetScheduleGroupCommand({ Name: name }));
      return State === 'ACTIVE'
        ? pass(name)
        : fail(`${name} is ${State ?? 'unknown'}; sandboxes would have no schedule that ends them`, DEPLOY_AGAIN);
    } catch (error) {
      if (isAbsent(error))
        return fail(
          `there is no schedule group ${name}; sandboxes would have no schedule that ends them`,
          DEPLOY_AGAIN,
        );
      throw error;
    } finally {
      client.destroy();
    }
  });
}
