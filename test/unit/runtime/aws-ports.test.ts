import { describe, expect, it } from 'vitest';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { FUNCTIONS, functionNamed } from '#contracts/functions';
import { variablesOf } from '#contracts/needs';
import type { VariableName } from '#contracts/variables';
import { SINGLE_COMPUTER_POLICY } from '#core/policy';
import type { Ports } from '#ports/ports';
import { composeAwsPorts } from '#runtime/aws-ports';
import { sandboxSettings } from '#test/builders/sandbox-settings';

const VALUES: Readonly<Record<VariableName, string>> = {
  EXAMHALL_TABLE: 'table',
  EXAMHALL_ARTIFACTS_BUCKET: 'artifacts-bucket',
  EXAMHALL_TASKS_BUCKET: 'tasks-bucket',
  EXAMHALL_REFERENCES_BUCKET: 'references-bucket',
  EXAMHALL_EVENT_BUS: 'bus',
  EXAMHALL_SCHEDULE_GROUP: 'group',
  EXAMHALL_EXPIRE_FUNCTION_ARN: 'arn:aws:lambda:us-east-1:111122223333:function:expire:live',
  EXAMHALL_SCHEDULE_ROLE_ARN: 'arn:aws:iam::111122223333:role/schedules',
  EXAMHALL_SWEEP_MACHINE_ARN: 'arn:aws:states:us-east-1:111122223333:stateMachine:sweep:live',
  EXAMHALL_GRADE_MACHINE_ARN: 'arn:aws:states:us-east-1:111122223333:stateMachine:grade:live',
  EXAMHALL_POLICY: JSON.stringify(SINGLE_COMPUTER_POLICY),
  EXAMHALL_SANDBOXES: JSON.stringify(sandboxSettings()),
  EXAMHALL_CALL_GUEST_FUNCTION_ARN: 'arn:aws:lambda:us-east-1:111122223333:function:call-guest:live',
  EXAMHALL_STATIC_HOSTS: '["10.9.8.7:5000"]',
  EXAMHALL_CODE_SHA256: 'c'.repeat(64),
};
/** What Lambda itself sets. */
const LAMBDA = { AWS_REGION: 'eu-west-1', AWS_LAMBDA_FUNCTION_NAME: 'f', PATH: '/bin', TZ: ':UTC' };

type Environment = Readonly<Record<string, string | undefined>>;

function environmentOf({ needs }: FunctionDeclaration): Record<string, string> {
  return { ...LAMBDA, ...Object.fromEntries(variablesOf(needs).map((name) => [name, VALUES[name]])) };
}

const compose = async (name: string, change: Environment = {}): Promise<Ports> =>
  await composeAwsPorts(functionNamed(name), { ...environmentOf(functionNamed(name)), ...change });
const invalid = (...parts: readonly string[]) => ({
  name: 'EnvironmentInvalidError',
  message: expect.stringMatching(new RegExp(parts.join('[^]*'), 'u')) as string,
});

describe('the ports of a deployed function', () => {
  it.each(FUNCTIONS.map(({ name }) => name))('%s are made from exactly its own variables', async (name) => {
    const ports = await compose(name);
    expect(ports.region).toBe('eu-west-1');
    expect(ports.code.sha256).toBe('c'.repeat(64));
  });

  it('come from its variables alone: any other of ours is told, those of Lambda are not', async () => {
    await expect(compose('close-unit', { EXAMHALL_TASKS_BUCKET: 'tasks-bucket' })).rejects.toMatchObject(
      invalid('close-unit', 'EXAMHALL_TASKS_BUCKET'),
    );
    await compose('close-unit', { SOMETHING_ELSE: '1' });
  });

  it('are refused naming every problem at once', async () => {
    const change = { EXAMHALL_TABLE: undefined, EXAMHALL_EVENT_BUS: '', EXAMHALL_SCHEDULE_ROLE_ARN: 'x' };
    const error = compose('provision-sandbox', { ...change, EXAMHALL_WRONG: '1' });
    await expect(error).rejects.toMatchObject(invalid('provision-sandbox'));
    await expect(error).rejects.toThrow(/EXAMHALL_TABLE/u);
    await expect(error).rejects.toThrow(/EXAMHALL_SCHEDULE_ROLE_ARN/u);
    await expect(error).rejects.toThrow(/EXAMHALL_WRONG/u);
  });

  it('hold the policy that was deployed, where it is declared', async () => {
    expect((await compose('grant-slots')).policy.costCenters).toEqual(SINGLE_COMPUTER_POLICY.costCenters);
    const { policy } = await compose('close-unit');
    expect(() => policy.costCenters).toThrow(/close-unit reads policy/u);
    await expect(compose('grant-slots', { EXAMHALL_POLICY: '{' })).rejects.toMatchObject(invalid('EXAMHALL_POLICY'));
  });
});

describe('a port that a deployed function does not declare', () => {
  it.each([
    ['unitStore', async (ports: Ports) => await ports.unitStore.get({ pk: 'a', sk: 'b' })],
    ['artifacts', async (ports: Ports) => await ports.artifacts.get({ bucket: 'artifacts', key: 'grades/x' })],
    ['runTree', async (ports: Ports) => await ports.runTree.makeDir('a', 'b')],
    ['events', async (ports: Ports) => await ports.events.publish('x', {})],
    ['tokens', async (ports: Ports) => await ports.tokens.heartbeat('t')],
    ['timers', async (ports: Ports) => await ports.timers.exists('t')],
    ['executions', async (ports: Ports) => await ports.executions.start('grade', 'x', {})],
  ])('is refused by name: %s', async (port, use) => {
    const ports = await compose('run-grader');
    await expect((async () => await use(ports))()).rejects.toMatchObject(invalid('run-grader uses', port, 'declare'));
  });

  it('is refused by what of it is declared, too', async () => {
    const ports = await compose('stage-grade');
    const elsewhere = { bucket: 'references', key: 'elsewhere/x' } as const;
    await expect((async () => await ports.artifacts.get(elsewhere))()).rejects.toMatchObject(
      invalid('stage-grade', 'to read references/elsewhere'),
    );
  });
});

describe('sandboxes of a deployment', () => {
  const machine = { provider: 'aws', channel: 'ssm' } as const;

  it('are those of EC2, driven by Systems Manager, and given machines, driven over the network', async () => {
    const ports = await compose('provision-sandbox');
    expect(ports.providers.get('aws').name).toBe('aws');
    expect(ports.providers.all().map(({ name }) => name)).toEqual(['aws', 'static']);
    const { channels } = await compose('run-agent');
    expect(channels.for(machine).tellsEnds).toBeUndefined();
    expect(channels.for({ provider: 'static', channel: 'cua' }).tellsEnds).toBe(false);
  });

  it.each(['gcloud', 'alibaba', 'process', 'desktop'])('of provider %s are refused by name', async (name) => {
    const { providers } = await compose('provision-sandbox');
    expect(() => providers.get(name)).toThrow(new RegExp(`provider ${name} `, 'u'));
    const { channels } = await compose('run-agent');
    expect(() => channels.for({ provider: name, channel: 'cua' })).toThrow(new RegExp(`provider ${name} `, 'u'));
  });

  it('are told to nobody who declares none', async () => {
    const { providers, channels } = await compose('close-unit');
    expect(() => providers.get('aws')).toThrow(/provider aws is not among what this function declares/u);
    expect(() => channels.for(machine)).toThrow(/provider aws is not among/u);
  });

  it('are used only as they are declared', async () => {
    const { providers, channels } = await compose('record-unit');
    await expect(
      (async () => await providers.get('aws').release({ sandboxId: 'i-1', resources: [] }, 'delete'))(),
    ).rejects.toMatchObject(invalid('record-unit uses sandboxes', 'release'));
    expect(() => channels.for(machine)).toThrow(/provider aws is not among/u);
  });

  it('are called over the network by the one function that declares it, with the hosts of the settings', async () => {
    const { guestCalls, guestHosts } = await compose('call-guest');
    expect(guestHosts).toEqual(['10.9.8.7:5000']);
    expect(guestCalls.answer).toBeTypeOf('function');
    const other = await compose('run-agent');
    await expect((async () => await other.guestCalls.answer('http://10.0.0.1:5000', [], 1))()).rejects.toMatchObject(
      invalid('run-agent uses guestCalls'),
    );
  });
});
