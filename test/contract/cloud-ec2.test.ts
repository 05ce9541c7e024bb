import {
  DeleteNetworkInterfaceCommand,
  DeleteTagsCommand,
  DeleteVolumeCommand,
  DescribeImagesCommand,
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeNetworkInterfacesCommand,
  DescribeVolumesCommand,
  EC2Client,
  GetConsoleOutputCommand,
  GetConsoleScreenshotCommand,
  ModifyInstanceAttributeCommand,
  paginateDescribeInstances,
  RunInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
  type Instance,
  type RunInstancesCommandInput,
} from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '#local/clock';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';

const TAGS = [
  { Key: 'examhall:stage', Value: 'test' },
  { Key: 'examhall:attempt', Value: 'odd <&"\r\n é' },
];

describe('EC2 of the stand-in', () => {
  let clock: VirtualClock;
  let cloud: StandInCloud;
  let ec2: EC2Client;
  beforeEach(async () => {
    clock = new VirtualClock({ isAutomatic: false });
    cloud = await StandInCloud.start({ clock });
    ec2 = new EC2Client(cloud.clientConfig);
  });
  afterEach(async () => {
    ec2.destroy();
    await cloud.stop();
  });

  const launch = async (more: Partial<RunInstancesCommandInput> = {}): Promise<Instance & { InstanceId: string }> => {
    const { Instances: [instance] = [] } = await ec2.send(
      new RunInstancesCommand({
        ImageId: 'ami-00000000000000001',
        InstanceType: 'm7i.large',
        MinCount: 1,
        MaxCount: 1,
        LaunchTemplate: { LaunchTemplateId: 'lt-00000000000000001', Version: '1' },
        TagSpecifications: (['instance', 'volume', 'network-interface'] as const).map((ResourceType) => ({
          ResourceType,
          Tags: TAGS,
        })),
        ...more,
      }),
    );
    if (instance?.InstanceId === undefined) throw new Error('nothing was launched');
    return { ...instance, InstanceId: instance.InstanceId };
  };
  const stateOf = async (instanceId: string): Promise<string | undefined> => {
    const { Reservations } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [instanceId] }));
    return Reservations?.[0]?.Instances?.[0]?.State?.Name;
  };

  it('a machine is pending, runs, shuts down, is shown as terminated for an hour, and is not there any more', async () => {
    const { InstanceId } = await launch();
    const seen = [await stateOf(InstanceId)];
    await clock.advance(10_000);
    seen.push(await stateOf(InstanceId));
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId] }));
    seen.push(await stateOf(InstanceId));
    await clock.advance(15_000);
    seen.push(await stateOf(InstanceId));
    expect(seen).toEqual(['pending', 'running', 'shutting-down', 'terminated']);
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId] }));
    await clock.advance(3_600_000);
    await expect(stateOf(InstanceId)).rejects.toMatchObject({ name: 'InvalidInstanceID.NotFound' });
    expect(cloud.machines.held).toEqual([]);
  });

  it('machine, volume and interface carry tags from the launch on, and what the template says', async () => {
    const { InstanceId, Tags, MetadataOptions } = await launch({
      BlockDeviceMappings: [{ DeviceName: '/dev/sda1', Ebs: { Encrypted: true, VolumeSize: 30, KmsKeyId: 'key' } }],
    });
    expect(Tags).toEqual(TAGS);
    expect(MetadataOptions).toMatchObject({ HttpTokens: 'required', HttpPutResponseHopLimit: 1 });
    const Filters = [{ Name: 'attachment.instance-id', Values: [InstanceId] }];
    const { Volumes } = await ec2.send(new DescribeVolumesCommand({ Filters }));
    expect(Volumes).toMatchObject([{ Tags: TAGS, Encrypted: true, Size: 30, KmsKeyId: 'key', State: 'in-use' }]);
    const { NetworkInterfaces } = await ec2.send(new DescribeNetworkInterfacesCommand({ Filters }));
    expect(NetworkInterfaces).toMatchObject([{ TagSet: TAGS, Groups: [{ GroupId: 'sg-00000000000000001' }] }]);
  });

  it('one token is one machine; other parameters and a terminated machine are errors of their own', async () => {
    const { InstanceId } = await launch({ ClientToken: 'token' });
    expect((await launch({ ClientToken: 'token' })).InstanceId).toBe(InstanceId);
    await expect(launch({ ClientToken: 'token', InstanceType: 'm7i.xlarge' })).rejects.toMatchObject({
      name: 'IdempotentParameterMismatch',
    });
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId] }));
    await clock.advance(15_000);
    await expect(launch({ ClientToken: 'token' })).rejects.toMatchObject({ name: 'IdempotentInstanceTerminated' });
    await expect(launch({ ClientToken: 'x'.repeat(65) })).rejects.toMatchObject({ name: 'InvalidParameterValue' });
  });

  it('finds by filters and in pages, and knows no other filter', async () => {
    for (let count = 0; count < 7; count += 1) await launch();
    const Filters = [
      { Name: 'tag:examhall:stage', Values: ['other', 'te?t'] },
      { Name: 'instance-state-name', Values: ['pending', 'running'] },
    ];
    const pages: number[] = [];
    for await (const { Reservations = [] } of paginateDescribeInstances({ client: ec2, pageSize: 5 }, { Filters }))
      pages.push(Reservations.length);
    expect(pages).toEqual([5, 2]);
    const none = await ec2.send(
      new DescribeInstancesCommand({ Filters: [{ Name: 'tag:examhall:stage', Values: ['tes'] }] }),
    );
    expect(none.Reservations).toEqual([]);
    const unknown = new DescribeInstancesCommand({ Filters: [{ Name: 'color', Values: ['red'] }] });
    await expect(ec2.send(unknown)).rejects.toMatchObject({ name: 'InvalidParameterValue' });
  });

  it('one id that is not there fails a whole call, and ends nothing', async () => {
    const { InstanceId } = await launch();
    const both = new TerminateInstancesCommand({ InstanceIds: [InstanceId, 'i-0123456789abcdef0'] });
    await expect(ec2.send(both)).rejects.toMatchObject({ name: 'InvalidInstanceID.NotFound' });
    expect(await stateOf(InstanceId)).toBe('pending');
    const malformed = new TerminateInstancesCommand({ InstanceIds: ['machine'] });
    await expect(ec2.send(malformed)).rejects.toMatchObject({ name: 'InvalidInstanceID.Malformed' });
  });

  it('ends or stops a machine that shuts itself down, as its behavior says', async () => {
    const ended = await launch();
    const kept = await launch();
    const behavior = { InstanceId: kept.InstanceId, InstanceInitiatedShutdownBehavior: { Value: 'stop' } };
    await ec2.send(new ModifyInstanceAttributeCommand(behavior));
    await clock.advance(3_600_000);
    for (const { InstanceId } of [ended, kept]) cloud.machines.lose(InstanceId, 'shutdown');
    await clock.advance(60_000);
    expect(await stateOf(ended.InstanceId)).toBe('terminated');
    expect(await stateOf(kept.InstanceId)).toBe('stopped');
    const change = ec2.send(new ModifyInstanceAttributeCommand({ ...behavior, InstanceId: ended.InstanceId }));
    await expect(change).rejects.toMatchObject({ name: 'IncorrectInstanceState' });
    const other = new ModifyInstanceAttributeCommand({ InstanceId: kept.InstanceId, EbsOptimized: { Value: true } });
    await expect(ec2.send(other)).rejects.toMatchObject({ name: 'InvalidParameterCombination' });
  });

  it('takes the tags that are named, and none of another value', async () => {
    const { InstanceId } = await launch();
    const volumeId = [...cloud.machines.volumes.keys()][0] ?? '';
    const Resources = [InstanceId, volumeId];
    await ec2.send(new DeleteTagsCommand({ Resources, Tags: [{ Key: 'examhall:stage', Value: 'other' }] }));
    expect(cloud.machines.all.get(InstanceId)?.tags.size).toBe(2);
    await ec2.send(new DeleteTagsCommand({ Resources, Tags: [{ Key: 'examhall:stage', Value: 'test' }] }));
    const tags = [cloud.machines.all.get(InstanceId)?.tags, cloud.machines.volumes.get(volumeId)?.tags];
    expect(tags.map((each) => [...(each?.keys() ?? [])])).toEqual([['examhall:attempt'], ['examhall:attempt']]);
    const nobody = new DeleteTagsCommand({ Resources: ['vol-00000000000009999'] });
    await expect(ec2.send(nobody)).rejects.toMatchObject({ name: 'InvalidID' });
  });

  it('stops a machine that runs, and keeps its volume', async () => {
    const { InstanceId } = await launch();
    const stop = new StopInstancesCommand({ InstanceIds: [InstanceId] });
    await expect(ec2.send(stop)).rejects.toMatchObject({ name: 'IncorrectInstanceState' });
    await clock.advance(10_000);
    await ec2.send(stop);
    await clock.advance(15_000);
    expect(await stateOf(InstanceId)).toBe('stopped');
    expect((await ec2.send(new DescribeVolumesCommand({}))).Volumes).toHaveLength(1);
  });

  it('deletes volumes and interfaces that no machine has, and no others', async () => {
    cloud.faults.nextMachine({ leavesParts: true });
    const { InstanceId, BlockDeviceMappings, NetworkInterfaces } = await launch();
    const volume = new DeleteVolumeCommand({ VolumeId: BlockDeviceMappings?.[0]?.Ebs?.VolumeId });
    const card = new DeleteNetworkInterfaceCommand({ NetworkInterfaceId: NetworkInterfaces?.[0]?.NetworkInterfaceId });
    await expect(ec2.send(volume)).rejects.toMatchObject({ name: 'VolumeInUse' });
    await expect(ec2.send(card)).rejects.toMatchObject({ name: 'InvalidParameterValue' });
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId] }));
    await clock.advance(15_000);
    expect(cloud.machines.held).toHaveLength(2);
    await ec2.send(volume);
    await ec2.send(card);
    expect(cloud.machines.held).toEqual([]);
    await expect(ec2.send(volume)).rejects.toMatchObject({ name: 'InvalidVolume.NotFound' });
    await expect(ec2.send(card)).rejects.toMatchObject({ name: 'InvalidNetworkInterfaceID.NotFound' });
  });

  it('shows console and screen, status and images', async () => {
    const { InstanceId } = await launch();
    await clock.advance(10_000);
    const { Output = '' } = await ec2.send(new GetConsoleOutputCommand({ InstanceId }));
    expect(Buffer.from(Output, 'base64').toString()).toContain(`${InstanceId} linux boots`);
    const { ImageData = '' } = await ec2.send(new GetConsoleScreenshotCommand({ InstanceId }));
    expect(Buffer.from(ImageData, 'base64').subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
    const { InstanceStatuses } = await ec2.send(new DescribeInstanceStatusCommand({ InstanceIds: [InstanceId] }));
    expect(InstanceStatuses).toMatchObject([{ InstanceStatus: { Status: 'ok' }, InstanceState: { Name: 'running' } }]);
    const { Images } = await ec2.send(new DescribeImagesCommand({ ImageIds: ['ami-00000000000000002'] }));
    expect(Images).toMatchObject([{ Platform: 'Windows', RootDeviceName: '/dev/sda1' }]);
    const unknown = new DescribeImagesCommand({ ImageIds: ['ami-0'] });
    await expect(ec2.send(unknown)).rejects.toMatchObject({ name: 'InvalidAMIID.NotFound' });
  });

  it('refuses launches that EC2 refuses, and keeps nothing of them', async () => {
    const long = [{ ResourceType: 'instance' as const, Tags: [{ Key: 'k', Value: 'v'.repeat(257) }] }];
    const refused: readonly [Partial<RunInstancesCommandInput>, string][] = [
      [{ ImageId: 'ami-1' }, 'InvalidAMIID.NotFound'],
      [{ SubnetId: 'subnet-1' }, 'InvalidSubnetID.NotFound'],
      [{ LaunchTemplate: { LaunchTemplateId: 'lt-1', Version: '1' } }, 'InvalidLaunchTemplateId.NotFound'],
      [
        { LaunchTemplate: { LaunchTemplateId: 'lt-00000000000000001', Version: '9' } },
        'InvalidLaunchTemplateId.VersionNotFound',
      ],
      [{ TagSpecifications: long }, 'InvalidParameterValue'],
      [{ UserData: Buffer.alloc(16_385).toString('base64') }, 'InvalidParameterValue'],
    ];
    for (const [more, name] of refused) await expect(launch(more)).rejects.toMatchObject({ name });
    expect(cloud.machines.held).toEqual([]);
  });
});
