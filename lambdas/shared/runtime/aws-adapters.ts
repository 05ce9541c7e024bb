import os from 'node:os';
import type { Need } from '#contracts/needs';
import type { VariableName } from '#contracts/variables';
import { ExamHallError } from '#core/errors';
import type { ArtifactStore, Bucket } from '#ports/artifact-store';
import type { Clock } from '#ports/clock';
import type { Events, Executions, TaskTokens, Timers } from '#ports/hosting';
import type { RunTree } from '#ports/run-tree';
import type { UnitStore } from '#ports/unit-store';
import type { Workspace } from '#ports/workspace';
import type { AwsEnvironment } from './aws-environment.ts';

/** Retries of AWS clients; `adaptive` also slows down for a service that throttles. */
const CLIENT = { retryMode: 'adaptive', maxAttempts: 5 } as const;

const BUCKETS = {
  artifacts: 'EXAMHALL_ARTIFACTS_BUCKET',
  tasks: 'EXAMHALL_TASKS_BUCKET',
  references: 'EXAMHALL_REFERENCES_BUCKET',
} as const satisfies Record<Bucket, VariableName>;

/** @throws EnvironmentInvalidError for a variable that the function's needs do not give it. */
export function valueOf<Name extends VariableName>(env: AwsEnvironment, name: Name): NonNullable<AwsEnvironment[Name]> {
  const value = env[name];
  if (value !== undefined) return value;
  throw new ExamHallError('EnvironmentInvalidError', `${name} is not set, and a port needs it; deploy again`, { name });
}

export async function dynamoUnitStore(env: AwsEnvironment): Promise<UnitStore> {
  const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
  const { DynamoDBDocumentClient } = await import('@aws-sdk/lib-dynamodb');
  const { DynamoUnitStore } = await import('#adapters/dynamo-unit-store');
  const client = new DynamoDBClient({ ...CLIENT, retryMode: 'standard' });
  return new DynamoUnitStore(DynamoDBDocumentClient.from(client), valueOf(env, 'EXAMHALL_TABLE'));
}

export async function s3Artifacts(needs: readonly Need[], env: AwsEnvironment): Promise<ArtifactStore> {
  const named = needs.flatMap((need) => (need.port === 'artifacts' ? [need.bucket] : []));
  return await s3Objects(named, env);
}

export async function s3Objects(named: readonly Bucket[], env: AwsEnvironment): Promise<ArtifactStore> {
  const { createS3Client } = await import('#adapters/s3-client');
  const { S3ArtifactStore } = await import('#adapters/s3-artifact-store');
  const buckets = Object.fromEntries(named.map((bucket) => [bucket, valueOf(env, BUCKETS[bucket])]));
  return new S3ArtifactStore({ client: createS3Client(), buckets });
}

export async function s3RunTree(env: AwsEnvironment): Promise<RunTree> {
  const { createS3Client } = await import('#adapters/s3-client');
  const { createS3RunTree } = await import('#adapters/s3-run-tree');
  return createS3RunTree({ client: createS3Client(), bucket: valueOf(env, BUCKETS.artifacts) });
}

export async function eventBridgeEvents(env: AwsEnvironment): Promise<Events> {
  const { EventBridgeClient } = await import('@aws-sdk/client-eventbridge');
  const { createEventBridgeEvents } = await import('#adapters/eventbridge-events');
  const client = new EventBridgeClient(CLIENT);
  return createEventBridgeEvents({ client, eventBus: valueOf(env, 'EXAMHALL_EVENT_BUS') });
}

export async function sfnTokens(): Promise<TaskTokens> {
  const { SFNClient } = await import('@aws-sdk/client-sfn');
  const { createSfnTokens } = await import('#adapters/sfn-tokens');
  return createSfnTokens({ client: new SFNClient(CLIENT) });
}

export async function sfnExecutions(env: AwsEnvironment): Promise<Executions> {
  const { SFNClient } = await import('@aws-sdk/client-sfn');
  const { createSfnExecutions } = await import('#adapters/sfn-executions');
  const { EXAMHALL_SWEEP_MACHINE_ARN: sweep, EXAMHALL_GRADE_MACHINE_ARN: grade } = env;
  const machines = { ...(sweep === undefined ? {} : { sweep }), ...(grade === undefined ? {} : { grade }) };
  return createSfnExecutions({ client: new SFNClient(CLIENT), machines });
}

export async function schedulerTimers(
  needs: readonly Need[],
  env: AwsEnvironment,
  clock: Pick<Clock, 'now'>,
): Promise<Timers> {
  const { SchedulerClient } = await import('@aws-sdk/client-scheduler');
  const { createSchedulerTimers } = await import('#adapters/scheduler-timers');
  const mayCreate = needs.some((need) => need.port === 'timers' && need.access === 'create');
  const target = mayCreate
    ? {
        functionArn: valueOf(env, 'EXAMHALL_EXPIRE_FUNCTION_ARN'),
        roleArn: valueOf(env, 'EXAMHALL_SCHEDULE_ROLE_ARN'),
      }
    : null;
  const client = new SchedulerClient(CLIENT);
  return createSchedulerTimers({ client, clock, group: valueOf(env, 'EXAMHALL_SCHEDULE_GROUP'), target });
}

/** Needs no client: files come and go by signed URLs. */
export async function scratchWorkspace(): Promise<Workspace> {
  const { createScratchWorkspace } = await import('#adapters/scratch-workspace');
  return createScratchWorkspace(os.tmpdir());
}
