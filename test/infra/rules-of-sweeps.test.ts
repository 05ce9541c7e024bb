import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ledgerOf } from '#core/denominators';
import { Deployment } from './deployment.ts';
import { deployedDefinition, deployedStates, deployedSweep, isTask, mapOf, unitNamed } from './deployed-machines.ts';
import { appForTests } from './synth.ts';
import { fail } from '../state-machines/machine-harness.ts';
import { SweepWorld } from '../state-machines/sweep-world.ts';

const deployment = new Deployment(appForTests());
const sweep = deployedDefinition(deployment, 'sweep');
const map = mapOf(sweep);
const states = deployedStates(deployment);

describe('row 20: the map of a sweep is not the inline one that stops at 40', () => {
  it('is distributed, with standard children, as many at once as the plan says', () => {
    expect(map.ItemProcessor.ProcessorConfig).toEqual({ Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' });
    expect(map.MaxConcurrency).toBe('{% $plan.maxConcurrency %}');
    expect(states.filter(({ state }) => state.Type === 'Map').map(({ name }) => name)).toEqual(['RunUnits']);
  });

  it('the deployed role may start, look at, stop and redrive its children, and nothing of other machines', () => {
    const rights = deployment
      .statementsOf('SweepMachineRole')
      .flatMap(({ Action, Resource }) => (Action.some((each) => each.startsWith('states:')) ? Resource : []));
    expect(rights.length).toBeGreaterThan(2);
    expect(rights.filter((arn) => !/:(?:stateMachine|execution):Sweep(?:$|[:/])/u.test(arn))).toEqual([]);
  });

  it('runs more than 40 units', async () => {
    const units = Array.from({ length: 60 }, (_, index) => unitNamed(`u${String(index)}`));
    const harness = deployedSweep(deployment, units);
    const handle = await harness.run('sweep');
    expect(handle.status).toBe('SUCCEEDED');
    expect(harness.callsOf('close-unit').length).toBe(60);
  });
});

describe('row 21: failed units neither hide in a sweep nor end it', () => {
  it('the map tolerates every failure, and the report is written from the ledger after it', async () => {
    expect(map.ToleratedFailurePercentage).toBe(100);
    expect(map.Catch?.map(({ Next }) => Next)).toEqual(['ReportSweep']);
    const harness = deployedSweep(deployment, [unitNamed('u1'), unitNamed('u2')], {
      'close-unit': fail('Lambda.Unknown'),
    });
    const handle = await harness.run('sweep');
    expect(handle.status).toBe('SUCCEEDED');
    expect(harness.events.filter(({ type }) => type === 'FAILED').length).toBe(2);
    expect(harness.called.at(-1)).toBe('report-sweep');
  });

  it('what an agent does wrong fails no execution', async () => {
    const harness = deployedSweep(deployment, [unitNamed('u1')], { 'collect-output': fail('AgentNotStoppedError') });
    await harness.run('sweep');
    expect(harness.events.filter(({ type }) => type === 'FAILED')).toEqual([]);
  });

  it('an execution that failed raises an alarm, units under the name of their map too', () => {
    const alarms = deployment.ofType('AWS::CloudWatch::Alarm').map(({ properties }) => JSON.stringify(properties));
    const failed = alarms.filter((text) => text.includes('ExecutionsFailed'));
    expect(failed.length).toBe(1);
    expect(failed[0]).toContain('stateMachine:Sweep/RunUnits');
  });
});

describe('row 23: a request that is sent twice starts one sweep', () => {
  it('the same name with the same input is the same execution, and with another input none', () => {
    const { interpreter } = deployedSweep(deployment, []);
    const start = (run: number) => interpreter.start('sweep', { name: 'sw-1-r1', input: { sweepId: 'sw-1', run } });
    expect(start(1).executionArn).toBe(start(1).executionArn);
    expect(() => start(2)).toThrow(expect.objectContaining({ name: 'ExecutionAlreadyExists' }));
  });

  it('the deployed route hands the idempotency key on, and its function may write the row that holds it', () => {
    const parameters = deployment
      .ofType('AWS::ApiGateway::Method')
      .filter(({ properties }) => properties['OperationName'] === 'startSweep')
      .map(({ properties }) => properties['RequestParameters']);
    expect(parameters).toEqual([expect.objectContaining({ 'method.request.header.Idempotency-Key': false })]);
    const written = deployment.statementsOf('AcceptCommandsRole').flatMap(({ Action }) => Action);
    expect(written).toContain('dynamodb:PutItem');
  });
});

describe('row 24: what is done again does nothing twice', () => {
  it('units whose functions die after their work, and whose events come twice, end as if once', async () => {
    const world = await SweepWorld.create(7, {
      eventLost: 0,
      eventTwice: 50,
      eventLate: 20,
      storeConflict: 5,
      storeDown: 0,
      noCapacity: 0,
      machineLost: 0,
      machineStays: 0,
      guestSilent: 0,
      functionFails: 0,
      functionDies: 5,
      graderUnavailable: 0,
    });
    await world.runUnits(12, { gradingMode: 'light', maxAttempts: 3 });
    const units = await world.units('first');
    const { counts } = ledgerOf(
      units.map(({ unitId }) => unitId),
      units,
    );
    expect(counts.scored + counts.lost).toBe(12);
    expect(counts.scored).toBeGreaterThan(6);
    expect(await world.leftovers()).toEqual([]);
  });

  it('only units that failed are run again, by the machine they ran under', () => {
    const redriving = deployment
      .statementsOf('SweepMachineRole')
      .filter(({ Action }) => Action.includes('states:RedriveExecution'))
      .flatMap(({ Resource }) => Resource);
    expect(redriving).toEqual(['arn:aws:states:eu-central-1:111122223333:execution:Sweep/RunUnits:*']);
    for (const { properties } of deployment.ofType('AWS::StepFunctions::StateMachine')) {
      expect(properties['StateMachineType']).toBe('STANDARD');
    }
  });
});

describe('row 25: what Lambda itself answers for a moment is tried again', () => {
  const tasks = states.filter(isTask);

  it('there are tasks', () => {
    expect(tasks.length).toBeGreaterThan(15);
  });

  it.each(tasks)('$name retries it after 2 s, doubling, five times at least, with full jitter', ({ state }) => {
    const wanted = [
      'Lambda.ServiceException',
      'Lambda.AWSLambdaException',
      'Lambda.SdkClientException',
      'Lambda.TooManyRequestsException',
    ];
    const [retrier] = (state.Retry ?? []).filter(({ ErrorEquals }) =>
      wanted.every((name) => ErrorEquals.includes(name)),
    );
    expect(retrier).toMatchObject({ IntervalSeconds: 2, BackoffRate: 2, JitterStrategy: 'FULL' });
    expect(retrier?.MaxAttempts ?? 0).toBeGreaterThanOrEqual(5);
  });
});

describe('row 26: what costs money says whose it is', () => {
  const TagsSchema = z.union([
    z.array(z.object({ Key: z.string(), Value: z.string() })).transform((list) => list.map(({ Key }) => Key)),
    z.record(z.string(), z.string()).transform((tags) => Object.keys(tags)),
  ]);
  const METERED = [
    'AWS::Lambda::Function',
    'AWS::StepFunctions::StateMachine',
    'AWS::DynamoDB::Table',
    'AWS::S3::Bucket',
    'AWS::Logs::LogGroup',
    'AWS::SQS::Queue',
    'AWS::KMS::Key',
    'AWS::ApiGateway::RestApi',
    'AWS::Scheduler::ScheduleGroup',
  ];

  it.each(METERED)('every %s carries the stage and the part of the deployment', (type) => {
    const found = deployment.ofType(type);
    expect(found.length).toBeGreaterThan(0);
    for (const { id, properties } of found) {
      const raw = properties['Tags'];
      expect([id, TagsSchema.parse(raw)]).toEqual([id, expect.arrayContaining(['examhall:stage', 'examhall:stack'])]);
    }
  });
});
