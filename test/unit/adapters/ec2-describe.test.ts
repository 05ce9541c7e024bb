import {
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeNetworkInterfacesCommand,
  DescribeVolumesCommand,
  GetConsoleOutputCommand,
  GetConsoleScreenshotCommand,
  type Instance,
  type InstanceStateName,
  type InstanceStatus,
  type Tag,
} from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { classify } from '#core/blame';
import { see } from '#core/blame-signature';
import type { SandboxState } from '#ports/sandbox-provider';
import { lossOf } from '#usecases/steps/evidence';
import { ATTEMPT, ec2Error, Ec2Kit, instance, LAUNCHED, TAGS } from './ec2-kit.ts';

async function stateOf(seen: Instance, status?: InstanceStatus): Promise<SandboxState> {
  const kit = new Ec2Kit();
  kit.tells(seen);
  if (status !== undefined) kit.wire.on(DescribeInstanceStatusCommand).resolves({ InstanceStatuses: [status] });
  return await kit.provider.describe({ sandboxId: 'i-1' });
}

describe('a machine', () => {
  it.each([
    ['pending', { state: 'pending' }],
    ['running', { state: 'ready' }],
    ['stopping', { state: 'stopped' }],
    ['stopped', { state: 'stopped' }],
    ['shutting-down', { state: 'gone', evidence: null }],
    ['terminated', { state: 'gone', evidence: null }],
  ] as const)('that is %s is %j', async (name, state) => {
    expect(await stateOf(instance('i-1', name))).toEqual(state);
  });
});

describe('a machine without the tag that makes it ours', () => {
  const taken = (state: InstanceStateName, tags: readonly Tag[] = []): Instance => ({
    ...instance('i-1', state),
    Tags: [...TAGS.filter(({ Key }) => Key !== 'examhall:stage'), ...tags],
  });
  const evidence: unknown = expect.stringContaining('found without the tag that makes it ours');

  it.each([
    ['running', { state: 'ready', evidence, isNotOurs: true }],
    ['stopped', { state: 'stopped', evidence, isNotOurs: true }],
    ['terminated', { state: 'gone', evidence: null }],
  ] as const)('that is %s is %j', async (name, state) => {
    expect(await stateOf(taken(name))).toEqual(state);
  });

  it('is that with the tag of another stage too, and keeps what else is wrong with it as its evidence', async () => {
    const status = { SystemStatus: { Status: 'impaired' } } as const;
    const other = taken('running', [{ Key: 'examhall:stage', Value: 'another' }]);
    expect(await stateOf(other, { InstanceId: 'i-1', ...status })).toEqual({
      state: 'ready',
      evidence: 'EC2 reports a failed system status check',
      isNotOurs: true,
    });
  });

  it('is taken for ours right after its launch, when EC2 may not tell its tags yet', async () => {
    const kit = new Ec2Kit();
    kit.tells(taken('running'));
    const asked = { sandboxId: 'i-1', launchedAt: LAUNCHED };
    expect(await kit.provider.describe(asked)).toEqual({ state: 'ready' });
    await kit.clock.sleep(300_000);
    expect(await kit.provider.describe(asked)).toMatchObject({ isNotOurs: true });
  });
});

describe('row 12: a machine that EC2 does not know', () => {
  it.each([
    [0, { state: 'pending' }],
    [299, { state: 'pending' }],
    [300, { state: 'gone', evidence: null }],
  ] as const)('%d s after its launch is %j', async (seconds, state) => {
    const kit = new Ec2Kit();
    await kit.clock.sleep(seconds * 1000);
    expect(await kit.provider.describe({ sandboxId: 'i-1', launchedAt: LAUNCHED })).toEqual(state);
  });

  it('is gone when nobody has launched it', async () => {
    expect(await new Ec2Kit().provider.describe({ sandboxId: 'nobody' })).toEqual({ state: 'gone', evidence: null });
  });

  it('is asked for by a filter, so that one that is missing fails no other', async () => {
    const kit = new Ec2Kit();
    kit.tells(instance('i-1', 'running'));
    const states = await Promise.all(['i-1', 'i-2'].map((sandboxId) => kit.provider.describe({ sandboxId })));
    expect(states).toEqual([{ state: 'ready' }, { state: 'gone', evidence: null }]);
    const [asked] = kit.wire.commandCalls(DescribeInstancesCommand).map(({ args }) => args[0].input);
    expect(asked).toMatchObject({ Filters: [{ Name: 'instance-id', Values: ['i-1', 'i-2'] }] });
    expect(asked).not.toHaveProperty('InstanceIds');
  });
});

describe('row 22: the loss of a machine', () => {
  it('by a shutdown from inside has no evidence: the guest itself did it', async () => {
    const Code = 'Client.InstanceInitiatedShutdown';
    const seen = instance('i-1', 'terminated', { StateReason: { Code, Message: 'shutdown' } });
    expect(await stateOf(seen)).toEqual({ state: 'gone', evidence: null });
  });

  it.each(['Client.UserInitiatedShutdown', 'Client.UserInitiatedHibernate'])(
    'by %s is evidence, for no machine can call EC2; whether we have, only its attempt knows',
    async (Code) => {
      const reason = { StateReason: { Code, Message: 'a user did' } };
      const told = {
        evidence: `ended through the API of EC2, not from inside (${Code}: a user did)`,
        isEndByCall: true,
      };
      for (const name of ['shutting-down', 'terminated'] as const)
        expect(await stateOf(instance('i-1', name, reason))).toEqual({ state: 'gone', ...told });
      for (const name of ['stopping', 'stopped'] as const)
        expect(await stateOf(instance('i-1', name, reason))).toEqual({ state: 'stopped', ...told });
      for (const name of ['pending', 'running'] as const)
        expect(await stateOf(instance('i-1', name, reason))).not.toHaveProperty('evidence');
    },
  );

  it.each(['Server.SpotInstanceTermination', 'Server.InternalError', 'Server.ScheduledStop', 'Client.InternalError'])(
    'by %s is evidence, in the words of EC2, also when the machine was only stopped',
    async (Code) => {
      const reason = { StateReason: { Code, Message: 'as EC2 says' } };
      const expected = { state: 'gone', evidence: `${Code}: as EC2 says` };
      expect(await stateOf(instance('i-1', 'terminated', reason))).toEqual(expected);
      expect(await stateOf(instance('i-1', 'stopped', reason))).toEqual({ ...expected, isStillThere: true });
    },
  );

  it.each([
    ['Client.UserInitiatedShutdown', 'terminated', 'platform'],
    ['Client.UserInitiatedShutdown', 'stopped', 'platform'],
    ['Client.UserInitiatedHibernate', 'stopping', 'platform'],
    ['Client.UserInitiatedHibernate', 'stopped', 'platform'],
    ['Client.UserInitiatedHibernate', 'terminated', 'platform'],
    ['Server.SpotInstanceTermination', 'terminated', 'platform'],
    ['Server.InternalError', 'terminated', 'platform'],
    ['Server.ScheduledStop', 'stopped', 'platform'],
    ['Client.InstanceInitiatedShutdown', 'stopped', 'agent'],
    ['Client.InstanceInitiatedShutdown', 'terminated', 'agent'],
  ] as const)(
    'by %s (%s) under an agent that has acted is laid to the %s, of any privilege',
    async (Code, name, blame) => {
      const state = await stateOf(instance('i-1', name, { StateReason: { Code, Message: 'as EC2 says' } }));
      const evidence = lossOf(state)?.evidence ?? null;
      for (const guestTrusted of [true, false]) {
        const seen = { ...see('SandboxLostError', `i-1 is ${state.state}`, 'run', { agentActed: true }), evidence };
        expect(classify({ ...seen, guestTrusted })).toMatchObject({ blame, retry: blame === 'platform' });
      }
    },
  );

  it('is told by the transition alone where EC2 gives no code', async () => {
    const spot = { StateTransitionReason: 'Server.SpotInstanceTermination: Spot instance termination' };
    expect(await stateOf(instance('i-1', 'shutting-down', spot))).toMatchObject({
      evidence: 'Server.SpotInstanceTermination: Spot instance termination',
    });
    const user = { StateTransitionReason: 'User initiated (2026-03-01 12:00:00 GMT)' };
    expect(await stateOf(instance('i-1', 'terminated', user))).toEqual({ state: 'gone', evidence: null });
  });

  it('is foretold by checks below the guest and by events whose time has come, never by what the guest makes fail', async () => {
    const running = instance('i-1', 'running');
    const soon = new Date('2026-03-01T12:00:01.000Z');
    const now = new Date(LAUNCHED);
    const told = async (status: InstanceStatus) => await stateOf(running, { InstanceId: 'i-1', ...status });
    expect(await told({ SystemStatus: { Status: 'impaired' } })).toMatchObject({
      state: 'ready',
      evidence: expect.stringContaining('system status check') as string,
    });
    expect(await told({ AttachedEbsStatus: { Status: 'impaired' } })).toHaveProperty('evidence');
    expect(await told({ Events: [{ Code: 'instance-retirement', NotBefore: now }] })).toMatchObject({
      evidence: expect.stringContaining('instance-retirement') as string,
    });
    expect(await told({ InstanceStatus: { Status: 'impaired' } })).toEqual({ state: 'ready' });
    expect(await told({ Events: [{ Code: 'system-reboot', NotBefore: soon }] })).toEqual({ state: 'ready' });
    const over = { Code: 'system-reboot', NotBefore: now, Description: '[Completed] reboot' } as const;
    expect(await told({ Events: [over] })).toEqual({ state: 'ready' });
  });
});

describe('row 2: what is there', () => {
  it('is asked of EC2 itself with the state of machines, then what lies about without one', async () => {
    const kit = new Ec2Kit();
    kit.wire
      .on(DescribeInstancesCommand)
      .resolvesOnce({ Reservations: [{ Instances: [instance('i-1', 'running')] }], NextToken: 'more:of' })
      .resolvesOnce({ Reservations: [{ Instances: [instance('i-2', 'shutting-down')] }] });
    kit.wire.on(DescribeVolumesCommand).resolves({ Volumes: [{ VolumeId: 'vol-1', Tags: TAGS }] });
    kit.wire
      .on(DescribeNetworkInterfacesCommand)
      .resolves({ NetworkInterfaces: [{ NetworkInterfaceId: 'eni-1', TagSet: TAGS }] });
    const all: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = await kit.provider.list(cursor);
      all.push(...page.sandboxes);
      cursor = page.cursor;
    } while (cursor !== undefined);
    const own = { attemptId: ATTEMPT, expiresAt: '2099-01-01T00:00:00.000Z' };
    expect(all).toEqual([
      { sandboxId: 'i-1', ...own, state: 'ready' },
      { sandboxId: 'i-2', ...own, state: 'stopped' },
      { sandboxId: 'vol-1', ...own, state: 'stopped' },
      { sandboxId: 'eni-1', ...own, state: 'stopped' },
    ]);
    const asked = kit.wire.commandCalls(DescribeInstancesCommand).map(({ args }) => args[0].input);
    const stage = { Name: 'tag:examhall:stage', Values: ['test'] };
    const Values = ['pending', 'running', 'stopping', 'stopped', 'shutting-down'];
    expect(asked).toMatchObject([
      { Filters: [stage, { Name: 'instance-state-name', Values }] },
      { NextToken: 'more:of' },
    ]);
  });

  it('shows machines with broken tags as nobody’s, with no end of their own, so that nothing is ended in haste', async () => {
    const kit = new Ec2Kit();
    const Tags = [{ Key: 'examhall:expires-at', Value: 'soon' }];
    kit.tells(instance('i-1', 'running', { Tags }), instance('i-2', 'running', { Tags: [] }));
    const { sandboxes } = await kit.provider.list();
    expect(sandboxes.map(({ attemptId }) => attemptId)).toEqual(['', '']);
    for (const { expiresAt } of sandboxes) expect(expiresAt > '2999').toBe(true);
  });
});

describe('what a machine shows of a failed start', () => {
  it('is its console and its screen', async () => {
    const kit = new Ec2Kit();
    const Output = Buffer.from('Kernel panic - nöt syncing').toString('base64');
    kit.wire.on(GetConsoleOutputCommand).resolves({ Output });
    kit.wire.on(GetConsoleScreenshotCommand).resolves({ ImageData: Buffer.from([255, 216]).toString('base64') });
    expect(await kit.provider.bootEvidence?.({ sandboxId: 'i-1' })).toEqual({
      consoleOutput: 'Kernel panic - nöt syncing',
      screenshot: new Uint8Array([255, 216]),
    });
  });

  it('is an earlier console where the latest cannot be had, and nothing where nothing can', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(GetConsoleOutputCommand).rejectsOnce(ec2Error('UnsupportedOperation')).resolves({ Output: 'b2xk' });
    kit.wire.on(GetConsoleScreenshotCommand).rejects(ec2Error('UnsupportedOperation'));
    expect(await kit.provider.bootEvidence?.({ sandboxId: 'i-1' })).toEqual({ consoleOutput: 'old', screenshot: null });
    kit.wire.on(GetConsoleOutputCommand).rejects(ec2Error('InvalidInstanceID.NotFound'));
    expect(await kit.provider.bootEvidence?.({ sandboxId: 'i-1' })).toEqual({ consoleOutput: null, screenshot: null });
  });
});
