import {
  DeleteNetworkInterfaceCommand,
  DeleteTagsCommand,
  DeleteVolumeCommand,
  DescribeInstancesCommand,
  DescribeNetworkInterfacesCommand,
  DescribeVolumesCommand,
  ModifyInstanceAttributeCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
  type InstanceStateName,
} from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { withFate } from '#core/teardown';
import { ATTEMPT, ec2Error, Ec2Kit, instance, LAUNCHED, TAGS } from './ec2-kit.ts';

const MACHINE = { kind: 'machine', resourceId: 'i-1' } as const;
const VOLUME = { kind: 'volume', resourceId: 'vol-1' } as const;
const INTERFACE = { kind: 'interface', resourceId: 'eni-1' } as const;
/** Long enough ago for EC2 to show all of it. */
const BEFORE = '2026-03-01T11:00:00.000Z';
const SANDBOX = { sandboxId: 'i-1', attemptId: ATTEMPT, launchedAt: LAUNCHED, resources: [MACHINE] };

/** Answers of EC2 about one machine, each once; the last one stays. */
function becomes(kit: Ec2Kit, ...states: readonly InstanceStateName[]): void {
  const stub = kit.wire.on(DescribeInstancesCommand);
  const last = states.at(-1);
  const told = (state: InstanceStateName | undefined) => ({ Reservations: [{ Instances: [instance('i-1', state)] }] });
  // Each look asks twice: by the name, and by the tags of the attempt.
  for (const state of states.slice(0, -1)) stub.resolvesOnce(told(state)).resolvesOnce(told(state));
  stub.resolves(told(last));
}
const told = (kit: Ec2Kit) => kit.wire.commandCalls(TerminateInstancesCommand).map(({ args }) => args[0].input);

describe('row 3: the end of a machine', () => {
  it('is told once, and is over only when EC2 shows the machine terminated', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(TerminateInstancesCommand).resolves({});
    becomes(kit, 'running', 'shutting-down', 'shutting-down', 'terminated');
    expect(await kit.provider.release(SANDBOX, 'delete')).toEqual(withFate([MACHINE], 'gone'));
    expect(told(kit)).toEqual([{ InstanceIds: ['i-1'] }]);
  });

  it('that hangs is left after a while, and the next call ends it by force', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(TerminateInstancesCommand).resolves({});
    becomes(kit, 'running', 'shutting-down');
    const before = kit.clock.now().getTime();
    expect(await kit.provider.release(SANDBOX, 'delete')).toEqual(withFate([MACHINE], 'left'));
    expect(kit.clock.now().getTime() - before).toBeLessThanOrEqual(95_000);
    await kit.provider.release(SANDBOX, 'delete');
    expect(told(kit)).toEqual([{ InstanceIds: ['i-1'] }, { InstanceIds: ['i-1'], Force: true, SkipOsShutdown: true }]);
  });

  it('is also the end of a second machine of the same attempt, each told by itself', async () => {
    const kit = new Ec2Kit();
    const both = (state: InstanceStateName) => ({
      Reservations: [{ Instances: [instance('i-1', state), instance('i-2', state)] }],
    });
    kit.wire.on(TerminateInstancesCommand).resolves({});
    kit.wire
      .on(DescribeInstancesCommand)
      .resolvesOnce(both('running'))
      .resolvesOnce(both('running'))
      .resolves(both('terminated'));
    const report = await kit.provider.release(SANDBOX, 'delete');
    expect(report).toEqual(withFate([MACHINE, { kind: 'machine', resourceId: 'i-2' }], 'gone'));
    expect(told(kit)).toEqual([{ InstanceIds: ['i-1'] }, { InstanceIds: ['i-2'] }]);
  });

  it('that is named without its attempt touches no other machine: the attempt may be using that one', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(TerminateInstancesCommand).resolves({});
    kit.tells(instance('i-1', 'running'));
    kit.wire
      .on(DescribeInstancesCommand, { Filters: [{ Name: 'instance-id', Values: ['i-1'] }] }, false)
      .resolvesOnce({ Reservations: [{ Instances: [instance('i-1', 'running')] }] })
      .resolvesOnce({ Reservations: [{ Instances: [instance('i-1', 'running')] }] })
      .resolves({ Reservations: [{ Instances: [instance('i-1', 'terminated')] }] });
    const report = await kit.provider.release({ sandboxId: 'i-1', resources: [] }, 'delete');
    expect(report).toEqual(withFate([MACHINE, { kind: 'interface', resourceId: 'eni-of-i-1' }], 'gone'));
    const filters = kit.wire.commandCalls(DescribeInstancesCommand).flatMap(({ args }) => args[0].input.Filters ?? []);
    expect(new Set(filters.map(({ Name }) => Name))).toEqual(new Set(['instance-id']));
  });

  it('of Windows does not wait for the system to shut down', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(TerminateInstancesCommand).resolves({});
    kit.tells(instance('i-1', 'running', { Platform: 'windows' as 'Windows' }));
    await kit.provider.release(SANDBOX, 'delete');
    expect(told(kit)).toEqual([{ InstanceIds: ['i-1'], SkipOsShutdown: true }]);
  });

  it('that EC2 refuses is an error in its words', async () => {
    const kit = new Ec2Kit();
    kit.tells(instance('i-1', 'running'));
    kit.wire.on(TerminateInstancesCommand).rejects(ec2Error('OperationNotPermitted'));
    await expect(kit.provider.release(SANDBOX, 'delete')).rejects.toMatchObject({
      name: 'ReleaseFailedError',
      message: expect.stringContaining('OperationNotPermitted') as string,
    });
  });

  it('is not the end of what it left: loose volumes and interfaces are deleted and seen gone', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(TerminateInstancesCommand).resolves({});
    becomes(kit, 'terminated');
    const Volumes = [{ VolumeId: 'vol-1', State: 'available' as const }];
    const NetworkInterfaces = [{ NetworkInterfaceId: 'eni-1', Status: 'available' as const }];
    kit.wire.on(DescribeVolumesCommand).resolvesOnce({ Volumes }).resolves({ Volumes: [] });
    kit.wire
      .on(DescribeNetworkInterfacesCommand)
      .resolvesOnce({ NetworkInterfaces })
      .resolves({ NetworkInterfaces: [] });
    kit.wire.on(DeleteVolumeCommand).resolves({});
    kit.wire.on(DeleteNetworkInterfaceCommand).resolves({});
    const report = await kit.provider.release(SANDBOX, 'delete');
    expect(report).toEqual(withFate([MACHINE, VOLUME, INTERFACE], 'gone'));
    expect(told(kit)).toEqual([]);
    expect(kit.wire.commandCalls(DeleteVolumeCommand)).toHaveLength(1);
    expect(kit.wire.commandCalls(DeleteNetworkInterfaceCommand)).toHaveLength(1);
  });

  it('leaves a volume that does not go, by name', async () => {
    const kit = new Ec2Kit();
    becomes(kit, 'terminated');
    kit.wire.on(DescribeVolumesCommand).resolves({ Volumes: [{ VolumeId: 'vol-1', State: 'available' }] });
    kit.wire.on(DeleteVolumeCommand).rejects(ec2Error('VolumeInUse'));
    expect(await kit.provider.release(SANDBOX, 'delete')).toEqual([
      ...withFate([MACHINE], 'gone'),
      ...withFate([VOLUME], 'left'),
    ]);
  });

  it('of a volume that lies about with no machine is told by its own name', async () => {
    const kit = new Ec2Kit();
    const Volumes = [{ VolumeId: 'vol-1', State: 'available' as const }];
    kit.wire.on(DescribeVolumesCommand).resolvesOnce({ Volumes }).resolves({ Volumes: [] });
    kit.wire.on(DeleteVolumeCommand).resolves({});
    const report = await kit.provider.release({ sandboxId: 'vol-1', resources: [] }, 'delete');
    expect(report).toEqual(withFate([VOLUME], 'gone'));
    expect(told(kit)).toEqual([]);
  });
});

describe('row 12: the release of a machine that EC2 does not know', () => {
  it('right after its launch is told all the same, and is not over', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(TerminateInstancesCommand).rejects(ec2Error('InvalidInstanceID.NotFound'));
    expect(await kit.provider.release(SANDBOX, 'delete')).toEqual(withFate([MACHINE], 'left'));
    expect(told(kit).length).toBeGreaterThan(1);
    await kit.clock.sleep(300_000);
    expect(await kit.provider.release(SANDBOX, 'delete')).toEqual(withFate([MACHINE], 'gone'));
  });

  it('later is over', async () => {
    const resources = [{ kind: 'machine', resourceId: 'nobody' }] as const;
    const stranger = { sandboxId: 'nobody', resources };
    for (const mode of ['delete', 'stop', 'keep', 'detach'] as const)
      expect(await new Ec2Kit().provider.release(stranger, mode)).toEqual(withFate(resources, 'gone'));
  });
});

describe('a machine that is left on purpose', () => {
  it('in mode stop is stopped when EC2 shows so, and its own timer no longer deletes it', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(StopInstancesCommand).resolves({});
    kit.wire.on(ModifyInstanceAttributeCommand).resolves({});
    const shown = (state: InstanceStateName) => ({ Reservations: [{ Instances: [instance('i-1', state)] }] });
    kit.wire
      .on(DescribeInstancesCommand)
      .resolvesOnce(shown('running'))
      .resolvesOnce(shown('running'))
      .resolvesOnce(shown('stopping'))
      .resolves(shown('stopped'));
    expect(await kit.provider.release(SANDBOX, 'stop')).toEqual(withFate([MACHINE], 'set-aside'));
    expect(kit.wire.commandCalls(StopInstancesCommand)).toHaveLength(1);
    expect(kit.wire.commandCalls(ModifyInstanceAttributeCommand).map(({ args }) => args[0].input)).toEqual([
      { InstanceId: 'i-1', InstanceInitiatedShutdownBehavior: { Value: 'stop' } },
    ]);
  });

  it('in mode stop is left over while it does not stop', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(ModifyInstanceAttributeCommand).resolves({});
    kit.wire.on(StopInstancesCommand).resolves({});
    kit.tells(instance('i-1', 'stopping'));
    expect(await kit.provider.release(SANDBOX, 'stop')).toEqual(withFate([MACHINE], 'left'));
  });

  it('in mode detach loses the tag that makes it ours, with all that belongs to it', async () => {
    const kit = new Ec2Kit();
    kit.tells(instance('i-1', 'running'));
    kit.wire.on(ModifyInstanceAttributeCommand).resolves({});
    kit.wire.on(DeleteTagsCommand).resolves({});
    kit.wire.on(DescribeVolumesCommand).resolves({ Volumes: [{ VolumeId: 'vol-1' }] });
    expect(await kit.provider.release(SANDBOX, 'detach')).toEqual(withFate([MACHINE], 'set-aside'));
    expect(kit.wire.commandCalls(DeleteTagsCommand).map(({ args }) => args[0].input)).toEqual([
      { Resources: ['vol-1', 'i-1'], Tags: [{ Key: 'examhall:stage', Value: 'test' }] },
    ]);
    expect(told(kit)).toEqual([]);
  });

  it.each(['stop', 'keep'] as const)('in mode %s is gone, and not left, when it ends meanwhile', async (mode) => {
    const kit = new Ec2Kit();
    kit.wire
      .on(DescribeInstancesCommand)
      .resolvesOnce({ Reservations: [{ Instances: [instance('i-1', 'running')] }] })
      .resolves({ Reservations: [{ Instances: [instance('i-1', 'terminated')] }] });
    if (mode === 'stop') kit.wire.on(ModifyInstanceAttributeCommand).resolves({});
    else kit.wire.on(ModifyInstanceAttributeCommand).rejects(ec2Error('IncorrectInstanceState'));
    expect(await kit.provider.release(SANDBOX, mode)).toEqual(withFate([MACHINE], 'gone'));
    expect(told(kit)).toEqual([]);
  });

  it.each(['delete', 'stop', 'keep', 'detach'] as const)(
    'that is ours no more is told as that in mode %s, and not touched',
    async (mode) => {
      const kit = new Ec2Kit();
      kit.tells(instance('i-1', 'running', { Tags: TAGS.filter(({ Key }) => Key !== 'examhall:stage') }));
      kit.wire.on(DescribeVolumesCommand).resolves({ Volumes: [{ VolumeId: 'vol-1', State: 'in-use' }] });
      const sandbox = { ...SANDBOX, launchedAt: BEFORE, resources: [MACHINE, VOLUME] };
      const report = await kit.provider.release(sandbox, mode);
      expect(report).toEqual(expect.arrayContaining([...withFate([MACHINE, VOLUME], 'not-ours')]));
      expect(report.filter(({ kind }) => kind === 'machine')).toEqual(withFate([MACHINE], 'not-ours'));
      expect(report.filter(({ fate }) => fate === 'left' || fate === 'set-aside')).toEqual([]);
      expect(told(kit)).toEqual([]);
      expect(kit.wire.commandCalls(StopInstancesCommand)).toEqual([]);
      expect(kit.wire.commandCalls(DeleteTagsCommand)).toEqual([]);
      expect(kit.wire.commandCalls(ModifyInstanceAttributeCommand)).toEqual([]);
    },
  );

  it('that is ours no more is told beside another one of its attempt that is ended', async () => {
    const kit = new Ec2Kit();
    const taken = instance('i-1', 'running', { Tags: [] });
    kit.wire.on(TerminateInstancesCommand).resolves({});
    kit.wire
      .on(DescribeInstancesCommand)
      .resolvesOnce({ Reservations: [{ Instances: [taken] }] })
      .resolvesOnce({ Reservations: [{ Instances: [instance('i-2', 'running')] }] })
      .resolves({ Reservations: [{ Instances: [taken, instance('i-2', 'terminated')] }] });
    const gone = [
      { kind: 'machine', resourceId: 'i-2' },
      { kind: 'interface', resourceId: 'eni-of-i-1' },
    ];
    expect(await kit.provider.release({ ...SANDBOX, launchedAt: BEFORE }, 'delete')).toEqual([
      ...withFate(gone, 'gone'),
      ...withFate([MACHINE], 'not-ours'),
    ]);
    expect(told(kit)).toEqual([{ InstanceIds: ['i-2'] }]);
  });
});
