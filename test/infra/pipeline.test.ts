import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { COMMAND_SOURCE, EVENT_SOURCE, EXECUTION_SOURCE } from '#contracts/events';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { FUNCTIONS, functionNamed } from '#contracts/functions';
import { variablesOf } from '#contracts/needs';
import { rateMinutes } from '../../infra/constructs/function-triggers.ts';
import { Deployment, type DeployedResource } from './deployment.ts';
import { appForTests } from './synth.ts';

const deployment = new Deployment(appForTests());
const names = FUNCTIONS.map(({ name }) => name);
const arnOf = (name: string): string => `arn:aws:lambda:eu-central-1:111122223333:function:${name}`;

/** The one resource of a type that says it belongs to a function. */
function ofFunction(type: string, name: string): DeployedResource {
  const found = deployment
    .ofType(type)
    .filter(({ metadata, properties }) =>
      type === 'AWS::Lambda::Function'
        ? metadata['examhall:function'] === name
        : properties['FunctionName'] === name || properties['FunctionName'] === arnOf(name),
    );
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${String(found.length)} of ${type} for ${name}`);
  return only;
}

const VariablesSchema = z.object({ Variables: z.record(z.string(), z.string()) });
const variables = (name: string): Readonly<Record<string, string>> =>
  VariablesSchema.parse(ofFunction('AWS::Lambda::Function', name).properties['Environment']).Variables;

const isAsynchronous = ({ trigger }: FunctionDeclaration): boolean =>
  ['event', 'schedule', 'timer'].includes(trigger.kind);

describe('the functions', () => {
  it('are those that are declared', () => {
    const deployed = deployment.ofType('AWS::Lambda::Function').map(({ metadata }) => metadata['examhall:function']);
    expect(names.length).toBeGreaterThan(20);
    expect(deployed.toSorted()).toEqual(names.toSorted());
  });

  it.each(names)('%s has the shape of its declaration', (name) => {
    const declared = functionNamed(name);
    const { properties } = ofFunction('AWS::Lambda::Function', name);
    expect(properties).toMatchObject({
      Runtime: declared.runtime,
      Handler: 'index.handler',
      Architectures: ['x86_64'],
      MemorySize: declared.memoryMiB,
      EphemeralStorage: { Size: declared.ephemeralStorageMiB },
      Timeout: declared.timeoutSeconds,
      LoggingConfig: { LogFormat: 'Text' },
    });
    expect(properties['ReservedConcurrentExecutions']).toBe(declared.reservedConcurrency);
  });

  it.each(names)('%s has exactly the variables of its needs, which its own schema takes, in less than 4 KB', (name) => {
    const declared = functionNamed(name);
    const found = variables(name);
    expect(Object.keys(found).toSorted()).toEqual([...variablesOf(declared.needs)]);
    expect(declared.env.safeParse(found).error?.issues ?? []).toEqual([]);
    expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThan(4096);
  });

  it('know each other by alias', () => {
    expect(variables('provision-sandbox')['EXAMHALL_EXPIRE_FUNCTION_ARN']).toBe(`${arnOf('expire-sandbox')}:live`);
    expect(variables('grade-unit')['EXAMHALL_GRADE_MACHINE_ARN']).toMatch(/:stateMachine:Grade:live$/u);
    expect(variables('accept-commands')['EXAMHALL_SWEEP_MACHINE_ARN']).toMatch(/:stateMachine:Sweep:live$/u);
  });

  it.each(names)('%s has a version that a later deploy leaves, and an alias that follows', (name) => {
    const version = ofFunction('AWS::Lambda::Version', name);
    expect([version.deletionPolicy, version.updateReplacePolicy]).toEqual(['Retain', 'Retain']);
    expect(ofFunction('AWS::Lambda::Alias', name).properties).toMatchObject({ Name: 'live', FunctionVersion: '1' });
  });

  it.each(names)('%s writes to a log group of its own', (name) => {
    const { LogGroup } = z
      .object({ LogGroup: z.string() })
      .parse(ofFunction('AWS::Lambda::Function', name).properties['LoggingConfig']);
    const writing = names.filter((other) => {
      const logging = ofFunction('AWS::Lambda::Function', other).properties['LoggingConfig'];
      return z.object({ LogGroup: z.string() }).parse(logging).LogGroup === LogGroup;
    });
    expect(writing).toEqual([name]);
  });

  it('without rights of their own run in the isolated subnets and are not traced; all others are traced outside', () => {
    const isolated = names.filter((name) => 'VpcConfig' in ofFunction('AWS::Lambda::Function', name).properties);
    expect(isolated).toEqual(['run-grader', 'call-guest']);
    for (const name of names) {
      const tracing = ofFunction('AWS::Lambda::Function', name).properties['TracingConfig'];
      expect([name, tracing]).toEqual([name, isolated.includes(name) ? undefined : { Mode: 'Active' }]);
    }
  });
});

describe('what starts functions', () => {
  const RuleSchema = z.object({
    EventBusName: z.string().optional(),
    EventPattern: z
      .object({ source: z.array(z.string()), 'detail-type': z.array(z.string()), detail: z.unknown().optional() })
      .optional(),
    ScheduleExpression: z.string().optional(),
    State: z.literal('ENABLED'),
    Targets: z.tuple([
      z.object({
        Arn: z.string(),
        Input: z.string().optional(),
        InputPath: z.string().optional(),
        DeadLetterConfig: z.object({ Arn: z.string() }),
        RetryPolicy: z.object({ MaximumEventAgeInSeconds: z.number(), MaximumRetryAttempts: z.number() }),
      }),
    ]),
  });
  const rules = deployment.ofType('AWS::Events::Rule').map(({ properties }) => RuleSchema.parse(properties));
  const rulesOf = (name: string): readonly z.infer<typeof RuleSchema>[] =>
    rules.filter(({ Targets: [target] }) => target.Arn === `${arnOf(name)}:live`);
  const triggered = FUNCTIONS.flatMap(({ name, trigger }) =>
    trigger.kind === 'event' || trigger.kind === 'schedule' ? [{ name, trigger }] : [],
  );

  it('is a rule for each event and each rate that is declared, and no other', () => {
    const wanted = triggered.flatMap(({ name, trigger }) => [
      ...(trigger.kind === 'event' ? [trigger, ...(trigger.also ?? [])].map(() => `${name} by events`) : []),
      ...(trigger.everySeconds === undefined ? [] : [`${name} by the clock`]),
    ]);
    expect(wanted.length).toBeGreaterThan(4);
    const found = triggered.flatMap(({ name }) =>
      rulesOf(name).map(({ EventPattern }) => `${name} by ${EventPattern === undefined ? 'the clock' : 'events'}`),
    );
    expect(found.toSorted()).toEqual(wanted.toSorted());
    expect(rules.length).toBe(wanted.length);
  });

  it.each(triggered.filter(({ trigger }) => trigger.kind === 'event'))(
    '$name hears of its events on the bus they come on, and is handed their detail',
    ({ name, trigger }) => {
      if (trigger.kind !== 'event') throw new Error('not an event');
      for (const { source, detailTypes, detail } of [trigger, ...(trigger.also ?? [])]) {
        const [rule, ...more] = rulesOf(name).filter(({ EventPattern }) => EventPattern?.source.includes(source));
        expect([source, more]).toEqual([source, []]);
        expect(rule?.EventPattern?.source).toEqual([source]);
        expect(rule?.EventPattern?.['detail-type']).toEqual(detailTypes);
        expect(rule?.EventPattern?.detail ?? {}).toMatchObject(detail ?? {});
        expect(rule?.EventBusName).toBe(source === EVENT_SOURCE ? 'Bus' : undefined);
        expect(rule?.Targets[0].InputPath).toBe('$.detail');
      }
    },
  );

  it.each(triggered.filter(({ trigger }) => trigger.everySeconds !== undefined))(
    '$name runs by the clock in whole minutes, with an empty payload',
    ({ name, trigger }) => {
      const [rule] = rulesOf(name).filter(({ ScheduleExpression }) => ScheduleExpression !== undefined);
      const minutes = rateMinutes(trigger.everySeconds ?? 0);
      expect(rule?.ScheduleExpression).toBe(`rate(${String(minutes)} minute${minutes === 1 ? '' : 's'})`);
      expect(rule?.Targets[0].Input).toBe('{}');
    },
  );

  it('gives up on no event silently: what cannot be delivered goes to a queue', () => {
    expect(rules.length).toBeGreaterThan(0);
    for (const { Targets } of rules) {
      expect(Targets[0].DeadLetterConfig.Arn).toMatch(/:UndeliveredQueue$/u);
      expect(Targets[0].RetryPolicy.MaximumRetryAttempts).toBe(185);
    }
  });

  it('follows the executions of both machines and of the units in the map, and of nobody else', () => {
    const [rule] = rules.filter(({ EventPattern }) => EventPattern?.source.includes(EXECUTION_SOURCE) === true);
    const arn = (name: string): string => `arn:aws:states:eu-central-1:111122223333:stateMachine:${name}`;
    expect(rule?.EventPattern?.detail).toEqual({
      status: ['FAILED', 'TIMED_OUT', 'ABORTED'],
      stateMachineArn: [arn('Sweep'), { prefix: `${arn('Sweep')}/` }, arn('Grade'), { prefix: `${arn('Grade')}/` }],
    });
  });

  it('follows the commands of the document that waits for jobs, and of no other in the account', () => {
    const [rule, ...more] = rules.filter(({ EventPattern }) => EventPattern?.source.includes(COMMAND_SOURCE) === true);
    expect(more).toEqual([]);
    expect(rule?.EventPattern?.detail).toMatchObject({ 'document-name': ['examhall-default-wait'] });
    expect(rule?.Targets[0].Arn).toBe(`${arnOf('on-run-finished')}:live`);
  });

  it('may invoke the alias it targets', () => {
    const permitted = deployment
      .ofType('AWS::Lambda::Permission', 'pipeline')
      .map(({ properties }) => [properties['FunctionName'], properties['Principal']]);
    const wanted = rules.map(({ Targets: [target] }) => [target.Arn, 'events.amazonaws.com']);
    expect(permitted.toSorted()).toEqual(wanted.toSorted());
  });

  it.each(FUNCTIONS.filter(isAsynchronous).map(({ name }) => name))(
    '%s is tried three times in all, and then its invocation is set aside',
    (name) => {
      expect(ofFunction('AWS::Lambda::EventInvokeConfig', name).properties).toMatchObject({
        Qualifier: 'live',
        MaximumRetryAttempts: 2,
        DestinationConfig: { OnFailure: { Destination: 'arn:aws:sqs:eu-central-1:111122223333:SetAsideQueue' } },
      });
    },
  );
});

describe('the queues', () => {
  it('keep what came to them for two weeks, encrypted, over TLS only', () => {
    const queues = deployment.ofType('AWS::SQS::Queue');
    expect(queues.map(({ id }) => id.replace(/[0-9A-F]{8}$/u, '')).toSorted()).toEqual([
      'SetAsideQueue',
      'UndeliveredQueue',
    ]);
    for (const { properties } of queues) {
      expect(properties).toMatchObject({ SqsManagedSseEnabled: true, MessageRetentionPeriod: 14 * 24 * 3600 });
    }
    const policies = JSON.stringify(deployment.ofType('AWS::SQS::QueuePolicy').map(({ properties }) => properties));
    expect(policies.match(/"aws:SecureTransport":"false"/gu)?.length).toBe(2);
  });
});

describe('log groups', () => {
  it('all end some day', () => {
    const groups = deployment.ofType('AWS::Logs::LogGroup');
    expect(groups.length).toBeGreaterThan(names.length);
    for (const { id, properties } of groups) expect([id, properties['RetentionInDays']]).toEqual([id, 90]);
  });
});
