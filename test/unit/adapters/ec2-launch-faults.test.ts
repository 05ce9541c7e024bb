import { DescribeInstancesCommand, RunInstancesCommand } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { ec2Error, Ec2Kit, ec2Spec, FakeLaunchLog, instance } from './ec2-kit.ts';

const placesOf = (kit: Ec2Kit): readonly string[] =>
  kit.launches.map(({ InstanceType, SubnetId }) => `${String(InstanceType)} ${String(SubnetId)}`);
const tokensOf = (kit: Ec2Kit): readonly string[] => kit.launches.map(({ ClientToken }) => ClientToken ?? '');

describe('row 9: a pool without capacity', () => {
  it.each(['InsufficientInstanceCapacity', 'InsufficientFreeAddressesInSubnet', 'Unsupported'])(
    'is left for the next after %s, is noted to be empty, and the machine says where it came to lie',
    async (name) => {
      const kit = new Ec2Kit();
      const log = new FakeLaunchLog();
      const there = instance('i-1', 'pending', { InstanceType: 'm6i.large' });
      kit.wire
        .on(RunInstancesCommand)
        .rejectsOnce(ec2Error(name))
        .rejectsOnce(ec2Error(name))
        .resolves({ Instances: [there] });
      expect((await kit.provider.acquire(ec2Spec(), log)).pool).toBe('m6i.large us-east-1a');
      expect(placesOf(kit)).toEqual(['m7i.large subnet-a', 'm7i.large subnet-b', 'm6i.large subnet-a']);
      expect(log.refusals).toEqual([
        ['m7i.large us-east-1a', 'capacity'],
        ['m7i.large us-east-1b', 'capacity'],
      ]);
      expect(log.notes).toHaveLength(3);
      expect(new Set(tokensOf(kit)).size).toBe(3);
    },
  );

  it('comes last while it cools down', async () => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    log.coolingPools.push('m7i.large us-east-1a');
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-1')] });
    await kit.provider.acquire(ec2Spec(), log);
    expect(placesOf(kit)).toEqual(['m7i.large subnet-b']);
  });

  it('is not asked first by the next call because it was asked last by the one before', async () => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error('InsufficientInstanceCapacity'));
    await expect(kit.provider.acquire(ec2Spec(), log)).rejects.toMatchObject({ name: 'CapacityUnavailableError' });
    const pools = log.refusals.map(([pool]) => pool);
    log.coolingPools.push(...pools.filter((pool) => pool !== pools[0]));
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-1')] });
    await kit.provider.acquire(ec2Spec(), log);
    expect(placesOf(kit)).toHaveLength(7);
    expect(placesOf(kit).at(-1)).toBe(placesOf(kit)[0]);
  });

  it('is an error that names every pool when none has a machine, each asked once', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error('InsufficientInstanceCapacity'));
    await expect(kit.provider.acquire(ec2Spec(), new FakeLaunchLog())).rejects.toMatchObject({
      name: 'CapacityUnavailableError',
      message: expect.stringMatching(/none of 6 pools .*m5\.large us-east-1b: InsufficientInstanceCapacity/u) as string,
    });
    expect(new Set(placesOf(kit)).size).toBe(6);
    expect(kit.launches).toHaveLength(6);
  });
});

describe('row 10: a quota that is used up', () => {
  it.each(['VcpuLimitExceeded', 'MaxSpotInstanceCountExceeded', 'VolumeLimitExceeded'])(
    'after %s no other pool is tried, and grants are told to slow down',
    async (name) => {
      const kit = new Ec2Kit();
      const log = new FakeLaunchLog();
      kit.wire.on(RunInstancesCommand).rejects(ec2Error(name));
      await expect(kit.provider.acquire(ec2Spec(), log)).rejects.toMatchObject({
        name: 'CapacityUnavailableError',
        message: expect.stringContaining(name) as string,
      });
      expect(kit.launches).toHaveLength(1);
      expect(log.refusals).toEqual([['m7i.large us-east-1a', 'quota']]);
    },
  );
});

describe('row 11: requests that EC2 throttles', () => {
  it('are a launch to be tried again later with the same token, and no pool is taken for empty', async () => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error('RequestLimitExceeded'));
    await expect(kit.provider.acquire(ec2Spec(), log)).rejects.toMatchObject({ name: 'CapacityUnavailableError' });
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-1')] });
    await kit.provider.acquire(ec2Spec(), log);
    const [first, second] = tokensOf(kit);
    expect(second).toBe(first);
    expect(log.refusals).toEqual([]);
  });

  it('are few: machines that are looked at together are asked about in one request of at most a hundred', async () => {
    const kit = new Ec2Kit();
    const ids = Array.from({ length: 150 }, (_, number) => `i-${String(number)}`);
    kit.tells(...ids.map((id) => instance(id, 'running')));
    const states = await Promise.all(ids.map((sandboxId) => kit.provider.describe({ sandboxId })));
    expect(states).toEqual(ids.map(() => ({ state: 'ready' })));
    const asked = kit.wire.commandCalls(DescribeInstancesCommand).map(({ args }) => args[0].input.Filters?.[0]?.Values);
    expect(asked.map((values) => values?.length)).toEqual([100, 50]);
  });

  it('while machines are looked at are told as passing trouble to every one that asked', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(DescribeInstancesCommand).rejects(ec2Error('RequestLimitExceeded'));
    const asked = await Promise.allSettled(['i-1', 'i-2'].map((sandboxId) => kit.provider.describe({ sandboxId })));
    for (const each of asked)
      expect(each).toMatchObject({ status: 'rejected', reason: { name: 'StoreUnavailableError' } });
  });
});

describe('row 13: a token that was used', () => {
  it('by a machine that has ended leads to the next try of the same pool', async () => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    kit.wire
      .on(RunInstancesCommand)
      .rejectsOnce(ec2Error('IdempotentInstanceTerminated'))
      .resolves({ Instances: [instance('i-2')] });
    kit.tells(instance('i-1', 'terminated'));
    expect((await kit.provider.acquire(ec2Spec(), log)).sandboxId).toBe('i-2');
    expect(log.notes).toEqual(['1 m7i.large us-east-1a', '2 m7i.large us-east-1a']);
    expect(new Set(tokensOf(kit)).size).toBe(2);
    const filters = kit.wire.commandCalls(DescribeInstancesCommand).map(({ args }) => args[0].input.Filters);
    expect(filters).toEqual([[{ Name: 'client-token', Values: [tokensOf(kit)[0]] }]]);
  });

  it('leads to no other try before EC2 shows that machine ended', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error('IdempotentInstanceTerminated'));
    kit.tells(instance('i-1', 'shutting-down'));
    await expect(kit.provider.acquire(ec2Spec(), new FakeLaunchLog())).rejects.toMatchObject({
      name: 'ProvisionFailedError',
    });
    expect(kit.launches).toHaveLength(1);
  });

  it('ends after three tries', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error('IdempotentInstanceTerminated'));
    await expect(kit.provider.acquire(ec2Spec(), new FakeLaunchLog())).rejects.toMatchObject({
      name: 'ProvisionFailedError',
    });
    expect(kit.launches).toHaveLength(3);
  });

  it('with other parameters, as after a deployment, gives the machine that it launched', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error('IdempotentParameterMismatch'));
    kit.tells(instance('i-1', 'running'));
    expect((await kit.provider.acquire(ec2Spec(), new FakeLaunchLog())).sandboxId).toBe('i-1');
    expect(kit.launches).toHaveLength(1);
  });

  it('with other parameters launches nothing while that machine is not shown', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error('IdempotentParameterMismatch'));
    await expect(kit.provider.acquire(ec2Spec(), new FakeLaunchLog())).rejects.toMatchObject({
      name: 'ProvisionFailedError',
    });
    expect(kit.launches).toHaveLength(1);
  });
});

describe('a launch that fails otherwise', () => {
  it.each([
    ['InvalidAMIID.NotFound', 'ImageMissingError'],
    ['UnauthorizedOperation', 'ProvisionFailedError'],
    ['ECONNRESET', 'ProvisionFailedError'],
  ])('with %s is %s, and no other pool is tried: it may have happened', async (seen, name) => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    kit.wire.on(RunInstancesCommand).rejects(ec2Error(seen));
    await expect(kit.provider.acquire(ec2Spec(), log)).rejects.toMatchObject({
      name,
      message: expect.stringContaining(seen) as string,
    });
    expect(kit.launches).toHaveLength(1);
    expect(log.refusals).toEqual([]);
  });
});
