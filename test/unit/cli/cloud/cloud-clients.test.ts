import { execFileSync } from 'node:child_process';
import {
  CreateImageCommand,
  DeleteSnapshotCommand,
  DeregisterImageCommand,
  DescribeImagesCommand,
  DescribeInstancesCommand,
  DescribeSnapshotsCommand,
  EC2Client,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import {
  DescribeInstanceInformationCommand,
  GetCommandInvocationCommand,
  SendCommandCommand,
  SSMClient,
} from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAdoptionCloud } from '#cli/cloud/adoption-cloud';
import { untilInterrupted } from '#cli/cloud/interrupted';
import { createMachineShell } from '#cli/cloud/machine-shell';

const ec2 = mockClient(EC2Client);
const ssm = mockClient(SSMClient);
beforeEach(() => {
  ec2.reset();
  ssm.reset();
});

const delay = async (): Promise<void> => Promise.resolve();
const region = 'eu-west-1';
const cloud = () => createAdoptionCloud(new EC2Client({ region }), { delay, pause: delay });
const shell = () => createMachineShell({ client: new SSMClient({ region }), delay });
const named = (name: string) => Object.assign(new Error(name), { name });

const IMAGE = {
  ImageId: 'ami-1',
  Name: 'theirs',
  OwnerId: '1',
  State: 'available',
  Architecture: 'x86_64',
  Platform: 'Windows',
  RootDeviceType: 'ebs',
  RootDeviceName: '/dev/sda1',
  BlockDeviceMappings: [
    { DeviceName: '/dev/sda1', Ebs: { VolumeSize: 40, SnapshotId: 'snap-1' } },
    { DeviceName: '/dev/sdb', VirtualName: 'ephemeral0' },
  ],
} as const;

describe('images and machines of an adoption, in EC2', () => {
  it('reads an image, and says so when there is none', async () => {
    ec2
      .on(DescribeImagesCommand)
      .resolvesOnce({ Images: [{ ...IMAGE, BlockDeviceMappings: [...IMAGE.BlockDeviceMappings] }] });
    expect(await cloud().describeImage('ami-1')).toMatchObject({
      isWindows: true,
      volumes: [{ device: '/dev/sda1', sizeGiB: 40 }],
      productCodes: [],
    });
    ec2.on(DescribeImagesCommand).rejects(named('InvalidAMIID.NotFound'));
    await expect(cloud().describeImage('ami-2')).rejects.toThrow('there is no image ami-2');
  });

  it('launches by the template, with every volume encrypted and everything tagged', async () => {
    ec2.on(RunInstancesCommand).resolves({ Instances: [{ InstanceId: 'i-1' }] });
    ec2
      .on(DescribeImagesCommand)
      .resolves({ Images: [{ ...IMAGE, BlockDeviceMappings: [...IMAGE.BlockDeviceMappings] }] });
    const machine = {
      image: await cloud().describeImage('ami-1'),
      subnetId: 'subnet-1',
      template: { id: 'lt-1', version: '2' },
      volumeKeyArn: 'arn:key',
      tags: { 'examhall:adoption': 'x'.repeat(300) },
      userData: 'hello',
      clientToken: 'token',
    };
    expect(await cloud().launch(machine)).toBe('i-1');
    const input = ec2.commandCalls(RunInstancesCommand)[0]?.args[0].input;
    expect(input).toMatchObject({
      ClientToken: 'token',
      LaunchTemplate: { LaunchTemplateId: 'lt-1', Version: '2' },
      InstanceInitiatedShutdownBehavior: 'terminate',
      UserData: Buffer.from('hello').toString('base64'),
      BlockDeviceMappings: [
        { DeviceName: '/dev/sda1', Ebs: { Encrypted: true, KmsKeyId: 'arn:key', DeleteOnTermination: true } },
      ],
    });
    expect(input?.TagSpecifications?.map(({ ResourceType }) => ResourceType)).toEqual([
      'instance',
      'volume',
      'network-interface',
    ]);
    expect(input?.TagSpecifications?.[0]?.Tags?.[0]?.Value).toHaveLength(256);
  });

  it('asks to terminate until it is seen terminated, through faults, and gives up in the end', async () => {
    const state = (Name: 'shutting-down' | 'terminated') => ({ TerminatingInstances: [{ CurrentState: { Name } }] });
    ec2
      .on(TerminateInstancesCommand)
      .rejectsOnce(named('RequestLimitExceeded'))
      .rejectsOnce(named('InvalidInstanceID.NotFound'))
      .resolvesOnce(state('shutting-down'))
      .resolves(state('terminated'));
    expect(await cloud().terminate('i-1')).toBe(true);
    expect(ec2.commandCalls(TerminateInstancesCommand)).toHaveLength(4);
    ec2.on(TerminateInstancesCommand).resolves(state('shutting-down'));
    expect(await cloud().terminate('i-1')).toBe(false);
    ec2.on(TerminateInstancesCommand).rejects(named('UnauthorizedOperation'));
    await expect(cloud().terminate('i-1')).rejects.toThrow('UnauthorizedOperation');
  });

  it('lists what other adoptions left, over pages', async () => {
    const page = (InstanceId: string) => ({
      Reservations: [{ Instances: [{ InstanceId, Tags: [{ Key: 'a', Value: 'b' }] }] }],
    });
    ec2
      .on(DescribeInstancesCommand)
      .resolvesOnce({ ...page('i-1'), NextToken: 'more' })
      .resolvesOnce(page('i-2'));
    expect(await cloud().machinesTagged('examhall:adoption')).toEqual([
      { instanceId: 'i-1', tags: { a: 'b' } },
      { instanceId: 'i-2', tags: { a: 'b' } },
    ]);
  });

  it('looks for what a launch has made until it is seen, or long enough', async () => {
    const found = { Reservations: [{ Instances: [{ InstanceId: 'i-1' }] }] };
    ec2.on(DescribeInstancesCommand).resolvesOnce({}).resolvesOnce(found).resolves({});
    expect(await cloud().machinesLaunchedBy('token')).toEqual(['i-1']);
    expect(ec2.commandCalls(DescribeInstancesCommand)[0]?.args[0].input.Filters?.[0]).toEqual({
      Name: 'client-token',
      Values: ['token'],
    });
    expect(await cloud().machinesLaunchedBy('other')).toEqual([]);
    expect(ec2.calls()).toHaveLength(2 + 7);
  });

  it('removes the tagged images of ours that are old, and snapshots that an image left', async () => {
    const [old, young] = ['2025-12-30T00:00:00.000Z', '2025-12-31T12:00:00.000Z'];
    const images = [
      { ImageId: 'ami-old', CreationDate: old, BlockDeviceMappings: [{ Ebs: { SnapshotId: 'snap-a' } }] },
      { ImageId: 'ami-young', CreationDate: young },
      { ImageId: 'ami-odd' },
    ];
    ec2.on(DescribeImagesCommand).resolves({ Images: images });
    const snapshot = (SnapshotId: string, at: string) => ({ SnapshotId, StartTime: new Date(at) });
    ec2
      .on(DescribeSnapshotsCommand)
      .resolves({ Snapshots: [snapshot('snap-a', old), snapshot('snap-b', old), snapshot('snap-c', young)] });
    ec2.on(DeregisterImageCommand).resolves({});
    ec2.on(DeleteSnapshotCommand).resolves({});
    ec2.on(DeleteSnapshotCommand, { SnapshotId: 'snap-a' }).resolvesOnce({}).rejects(named('InvalidSnapshot.NotFound'));
    expect(await cloud().removeImagesTagged('a', '2025-12-31T00:00:00.000Z')).toEqual(['ami-old', 'snap-b']);
    expect(ec2.commandCalls(DescribeImagesCommand)[0]?.args[0].input).toEqual({
      Owners: ['self'],
      Filters: [{ Name: 'tag-key', Values: ['a'] }],
    });
    expect(ec2.commandCalls(DescribeSnapshotsCommand)[0]?.args[0].input.OwnerIds).toEqual(['self']);
    expect(ec2.commandCalls(DeregisterImageCommand).map(({ args }) => args[0].input.ImageId)).toEqual(['ami-old']);
  });

  it('waits for an image, which may not be known at once, and leaves none behind that failed', async () => {
    ec2.on(CreateImageCommand).resolves({ ImageId: 'ami-9' });
    ec2
      .on(DescribeImagesCommand)
      .rejectsOnce(named('InvalidAMIID.NotFound'))
      .resolvesOnce({ Images: [{ State: 'pending' }] })
      .resolvesOnce({ Images: [{ State: 'available' }] });
    expect(await cloud().createImage({ instanceId: 'i-1', name: 'n', tags: { a: 'b' } })).toBe('ami-9');
    expect(ec2.commandCalls(CreateImageCommand)[0]?.args[0].input.TagSpecifications).toHaveLength(2);
    ec2
      .on(DescribeImagesCommand)
      .resolves({ Images: [{ State: 'failed', BlockDeviceMappings: [{ Ebs: { SnapshotId: 'snap-9' } }] }] });
    ec2.on(DeregisterImageCommand).resolves({});
    ec2.on(DeleteSnapshotCommand).resolves({});
    await expect(cloud().createImage({ instanceId: 'i-1', name: 'n', tags: {} })).rejects.toThrow('is failed');
    expect(ec2.commandCalls(DeregisterImageCommand)).toHaveLength(1);
    expect(ec2.commandCalls(DeleteSnapshotCommand)[0]?.args[0].input.SnapshotId).toBe('snap-9');
  });
});

describe('a script on a machine', () => {
  it('waits for the agent, and says what is lacking when it never comes', async () => {
    ssm
      .on(DescribeInstanceInformationCommand)
      .resolvesOnce({ InstanceInformationList: [] })
      .resolvesOnce({ InstanceInformationList: [{ PingStatus: 'ConnectionLost' }] })
      .resolvesOnce({ InstanceInformationList: [{ PingStatus: 'Online' }] })
      .resolves({ InstanceInformationList: [] });
    await shell().waitOnline('i-1', 60);
    expect(ssm.calls()).toHaveLength(3);
    await expect(shell().waitOnline('i-1', 20)).rejects.toThrow('did not come online within 20 s');
  });

  it('is told in base64 on Linux and as it is on Windows, and ends with its own exit code', async () => {
    ssm.on(SendCommandCommand).resolves({ Command: { CommandId: 'c-1' } });
    ssm
      .on(GetCommandInvocationCommand)
      .rejectsOnce(named('InvocationDoesNotExist'))
      .resolvesOnce({ Status: 'InProgress' })
      .resolves({ Status: 'Failed', ResponseCode: 3, StandardOutputContent: 'out', StandardErrorContent: 'err' });
    const text = `echo 'a "quoted" word'`;
    expect(await shell().run('i-1', { os: 'linux', text, timeoutSeconds: 60 })).toEqual({
      exitCode: 3,
      stdout: 'out',
      stderr: 'err',
    });
    await shell().run('i-1', { os: 'windows', text, timeoutSeconds: 60 });
    const [linux, windows] = ssm.commandCalls(SendCommandCommand).map(({ args }) => args[0].input);
    const command = linux?.Parameters?.['commands']?.[0] ?? '';
    expect(command).not.toContain('quoted');
    expect(execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', input: 'nobody reads this' })).toBe(
      'a "quoted" word\n',
    );
    expect(linux).toMatchObject({ DocumentName: 'AWS-RunShellScript', Parameters: { executionTimeout: ['60'] } });
    expect(windows).toMatchObject({ DocumentName: 'AWS-RunPowerShellScript', Parameters: { commands: [text] } });
  });

  it.each([
    ['was never delivered', { Status: 'TimedOut', StatusDetails: 'DeliveryTimedOut' } as const, 'DeliveryTimedOut'],
    ['did not end', { Status: 'InProgress' } as const, 'did not end within its time'],
    ['has no exit code', { Status: 'Failed', ResponseCode: -1 } as const, 'without an exit code'],
  ])('that %s is no answer', async (_what, found, message) => {
    ssm.on(SendCommandCommand).resolves({ Command: { CommandId: 'c-1' } });
    ssm.on(GetCommandInvocationCommand).resolves(found);
    await expect(shell().run('i-1', { os: 'linux', text: 'true', timeoutSeconds: 10 })).rejects.toThrow(message);
  });
});

describe('work that is interrupted', () => {
  it('is told by its signal and ends with the reason; afterwards nobody listens any more', async () => {
    const before = process.listenerCount('SIGTERM');
    const told: string[] = [];
    const work = untilInterrupted(
      (line) => told.push(line),
      async (signal) => {
        process.emit('SIGTERM', 'SIGTERM');
        expect(signal.aborted).toBe(true);
        throw new Error('what an aborted wait throws');
      },
    );
    await expect(work).rejects.toThrow('stopped by SIGTERM');
    expect(told).toHaveLength(1);
    expect(process.listenerCount('SIGTERM')).toBe(before);
    expect(
      await untilInterrupted(
        () => undefined,
        async () => Promise.resolve(7),
      ),
    ).toBe(7);
  });
});
