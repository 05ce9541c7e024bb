import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateEventBusCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { CreateScheduleGroupCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DynamoUnitStore } from '#adapters/dynamo-unit-store';
import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import { createS3Client } from '#adapters/s3-client';
import { functionNamed } from '#contracts/functions';
import { variablesOf } from '#contracts/needs';
import type { VariableName } from '#contracts/variables';
import { objectKeys, rowKeys } from '#core/keys';
import { SINGLE_COMPUTER_POLICY } from '#core/policy';
import { ATTEMPT, UNIT } from '#test/builders/attempt-run';
import { requestSweep } from '#test/builders/catalog';
import { sandboxSettings } from '#test/builders/sandbox-settings';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { tier } from '#test/runner/tier';
import { bundleFunctions, type FunctionBundle } from '../../infra/bundler-functions.ts';
import { invokeBundle, type Invocation } from './invoke-bundle.ts';

const VALUES: Readonly<Record<VariableName, string>> = {
  EXAMHALL_TABLE: 'examhall',
  EXAMHALL_ARTIFACTS_BUCKET: 'examhall-artifacts',
  EXAMHALL_TASKS_BUCKET: 'examhall-tasks',
  EXAMHALL_REFERENCES_BUCKET: 'examhall-references',
  EXAMHALL_EVENT_BUS: 'examhall',
  EXAMHALL_SCHEDULE_GROUP: 'examhall',
  EXAMHALL_EXPIRE_FUNCTION_ARN: 'arn:aws:lambda:us-east-1:111122223333:function:expire:live',
  EXAMHALL_SCHEDULE_ROLE_ARN: 'arn:aws:iam::111122223333:role/schedules',
  EXAMHALL_SWEEP_MACHINE_ARN: 'arn:aws:states:us-east-1:111122223333:stateMachine:sweep:live',
  EXAMHALL_GRADE_MACHINE_ARN: 'arn:aws:states:us-east-1:111122223333:stateMachine:grade:live',
  EXAMHALL_POLICY: JSON.stringify(SINGLE_COMPUTER_POLICY),
  EXAMHALL_SANDBOXES: JSON.stringify(sandboxSettings()),
  EXAMHALL_CALL_GUEST_FUNCTION_ARN: 'arn:aws:lambda:us-east-1:111122223333:function:call-guest:live',
  EXAMHALL_STATIC_HOSTS: '[]',
  EXAMHALL_CODE_SHA256: 'c'.repeat(64),
};
const BUCKETS = {
  artifacts: VALUES.EXAMHALL_ARTIFACTS_BUCKET,
  tasks: VALUES.EXAMHALL_TASKS_BUCKET,
  references: VALUES.EXAMHALL_REFERENCES_BUCKET,
};

tier('moto')('deployed functions over AWS services', () => {
  let folder: string;
  let bundles: ReadonlyMap<string, FunctionBundle>;
  let moto: MotoServer | undefined;
  let artifacts: S3ArtifactStore;
  let rows: DynamoUnitStore;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-moto-'));
    bundles = await bundleFunctions(folder);
    moto = await startMotoServer();
    const { clientConfig } = moto;
    const s3 = createS3Client({ ...clientConfig, forcePathStyle: true });
    for (const Bucket of Object.values(BUCKETS)) await s3.send(new CreateBucketCommand({ Bucket }));
    artifacts = new S3ArtifactStore({ client: s3, buckets: BUCKETS });
    const dynamo = new DynamoDBClient(clientConfig);
    await dynamo.send(
      new CreateTableCommand({
        TableName: VALUES.EXAMHALL_TABLE,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
      }),
    );
    rows = new DynamoUnitStore(DynamoDBDocumentClient.from(dynamo), VALUES.EXAMHALL_TABLE);
    const Name = 'examhall';
    await new EventBridgeClient(clientConfig).send(new CreateEventBusCommand({ Name }));
    await new SchedulerClient(clientConfig).send(new CreateScheduleGroupCommand({ Name }));
  }, 180_000);
  afterAll(async () => {
    await moto?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** In a process of its own, with the variables of its declaration and what Lambda gives. */
  async function invoke(name: string, event: unknown, changed: Record<string, string> = {}): Promise<Invocation> {
    const own = variablesOf(functionNamed(name).needs).map((variable) => [variable, VALUES[variable]]);
    // A client given an address instead of a name asks for buckets by path.
    const endpoint = moto?.endpoint.replace('localhost', '127.0.0.1') ?? '';
    return await invokeBundle(bundles.get(name)?.folder ?? '', event, {
      ...(Object.fromEntries(own) as Record<string, string>),
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: 'testing',
      AWS_SECRET_ACCESS_KEY: 'testing',
      ...changed,
    });
  }

  it('plan, admit, grant and refuse a unit over its own table, buckets and bus', async () => {
    const deadlineAt = new Date(Date.now() + 3_600_000).toISOString();
    const snapshot = { provider: 'aws', os: 'linux' as const, resolution: null, knobs: {} };
    const request = { limits: { deadlineAt }, treeDir: 'first' };
    await requestSweep(artifacts, { ...request, snapshots: { '*': { ...snapshot, image: 'ami' } } });
    expect(await invoke('plan-sweep', { sweepId: 'first', run: 1 })).toMatchObject({
      errorName: 'SandboxRefusedError',
      message: expect.stringContaining('this deployment has no image "ami"; it has ale-ubuntu22') as string,
    });

    await requestSweep(artifacts, { ...request, snapshots: { '*': { ...snapshot, image: 'ale-ubuntu22' } } });

    const planned = await invoke('plan-sweep', { sweepId: 'first', run: 1 });
    expect(planned).toMatchObject({ answer: { unitsToRun: 1, planKey: objectKeys.plan('first', 1) } });
    expect(planned.log.map(({ event, function: name }) => [event, name])).toEqual([
      ['function.started', 'plan-sweep'],
      ['function.finished', 'plan-sweep'],
    ]);
    expect(planned.log[0]).toMatchObject({ awsRequestId: 'request-1', sweepId: 'first' });
    expect((await rows.get(rowKeys.sweep('first')))?.body).toMatchObject({ plannedUnits: 1 });

    const token = 'a-token-of-nobody';
    expect(await invoke('admit-unit', { sweepId: 'first', run: 1, unitId: UNIT, attempt: 1, token })).toMatchObject({
      answer: null,
    });
    const granted = await invoke('grant-slots', {});
    expect(granted).toMatchObject({ answer: null });
    expect(granted.log.find(({ event }) => event === 'grants.decided')).toMatchObject({ granted: 1 });

    const attempt = { sweepId: 'first', unitId: UNIT, attemptId: ATTEMPT };
    const settings = sandboxSettings();
    const { 'ale-ubuntu22': _taken, ...images } = settings.images;
    const EXAMHALL_SANDBOXES = JSON.stringify({ ...settings, images });
    expect(await invoke('provision-sandbox', attempt, { EXAMHALL_SANDBOXES })).toMatchObject({
      errorName: 'ImageMissingError',
      message: expect.stringContaining('this deployment has no image "ale-ubuntu22"; it has ale-win-server') as string,
    });
    const { runDir } = (await rows.get(rowKeys.attempt(ATTEMPT)))?.body ?? {};
    expect(runDir).toMatch(/^first\/scripted\/.*\/\d{8}_\d{6}$/u);
    const { objects } = await artifacts.list('artifacts', `runs/${String(runDir)}/`);
    expect(objects.length).toBeGreaterThan(0);

    // It asks EC2 for what the attempt may have launched, and finds nothing.
    const released = await invoke('release-sandbox', attempt);
    expect(released.errorName).toBeUndefined();
  }, 240_000);
});
