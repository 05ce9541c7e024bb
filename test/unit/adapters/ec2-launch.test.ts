import { DescribeInstancesCommand, RunInstancesCommand } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { ATTEMPT, ec2Error, Ec2Kit, ec2Spec, FakeLaunchLog, instance, LAUNCHED } from './ec2-kit.ts';

describe('a launch', () => {
  it('is one machine, from the template of its network, with encrypted volumes that end with it, and tagged at once', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-1')] });
    await kit.provider.acquire(ec2Spec(), new FakeLaunchLog());
    const [request] = kit.launches;
    expect(request).toMatchObject({
      MinCount: 1,
      MaxCount: 1,
      ImageId: 'ami-0aaaaaaaaaaaaaaaa',
      InstanceType: 'm7i.large',
      SubnetId: 'subnet-a',
      LaunchTemplate: { LaunchTemplateId: 'lt-0123456789abcdef0', Version: '3' },
      BlockDeviceMappings: [
        {
          DeviceName: '/dev/sda1',
          Ebs: {
            Encrypted: true,
            DeleteOnTermination: true,
            VolumeSize: 30,
            KmsKeyId: 'arn:aws:kms:us-east-1:111122223333:key/volumes',
          },
        },
      ],
    });
    for (const ours of ['NetworkInterfaces', 'SecurityGroupIds', 'IamInstanceProfile', 'MetadataOptions', 'KeyName'])
      expect(request, 'what the template says is said by nobody else').not.toHaveProperty(ours);
    expect(Buffer.from(request?.UserData ?? '', 'base64').toString()).toContain('https://tasks.example/boot.tar.gz');
  });

  it('gives a handle that says where the machine is, what it costs and what it made', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-1')] });
    const sandbox = await kit.provider.acquire(ec2Spec({ privilege: 'upstream' }), new FakeLaunchLog());
    expect(sandbox).toMatchObject({
      sandboxId: 'i-1',
      attemptId: ATTEMPT,
      channel: 'ssm',
      launchedAt: LAUNCHED,
      pool: 'm7i.large us-east-1a',
      desktop: { serverUrl: 'http://127.0.0.1:5000', endpoint: { url: 'http://10.0.1.5:5000' } },
      guestIsolation: { kind: 'none', keepsDesktop: true, allowsSudo: true },
      billed: { machineType: 'm7i.large', os: 'linux', isSpot: false, volumeGiB: 30, hasPublicAddress: true },
      resources: [
        { kind: 'machine', resourceId: 'i-1' },
        { kind: 'interface', resourceId: 'eni-of-i-1' },
      ],
    });
  });

  it.each([
    ['SandboxRefusedError', 'network sealed', { network: 'sealed' }],
    ['SandboxRefusedError', 'os windows', { os: 'windows' }],
    ['SandboxRefusedError', 'a2-highgpu-1g', { machineType: 'a2-highgpu-1g', gpu: true }],
    ['SandboxRefusedError', 'no driver', { machineType: 'g2-standard-8', vCpus: 8, memoryMiB: 32_768, gpu: true }],
    ['SandboxRefusedError', 'zones ["eu-west-1a"]', { knobs: { zones: ['eu-west-1a'] } }],
    ['SandboxRefusedError', 'tenancy "dedicated"', { knobs: { tenancy: 'dedicated' } }],
    ['SandboxRefusedError', 'ami "ami-other"', { knobs: { ami: 'ami-other' } }],
    ['SandboxRefusedError', 'resolution', { resolution: 'huge' }],
    ['ImageMissingError', 'ale-ubuntu22, ale-win-server', { image: 'ale-kasm' }],
  ] as const)('is refused with %s naming %s, and nothing is asked of EC2', async (name, text, changes) => {
    const kit = new Ec2Kit();
    const refusal = kit.provider.acquire(ec2Spec(changes), new FakeLaunchLog());
    await expect(refusal).rejects.toMatchObject({ name, message: expect.stringContaining(text) as string });
    expect(kit.wire.calls()).toEqual([]);
  });

  it('stays in the zones that the environment names', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-1')] });
    await kit.provider.acquire(ec2Spec({ knobs: { zones: ['us-east-1b'] } }), new FakeLaunchLog());
    expect(kit.launches.map(({ SubnetId }) => SubnetId)).toEqual(['subnet-b']);
  });

  it('says what a wish would take before anything is launched', () => {
    const kit = new Ec2Kit();
    const size = { machineType: 'n2-standard-3', vCpus: 3, memoryMiB: 12_288, gpu: false } as const;
    const rest = { privilege: 'restricted', resolution: null, knobs: {} } as const;
    const wish = { snapshot: 'win', image: 'ale-win-server', os: 'windows', ...rest, ...size } as const;
    expect(kit.provider.offer?.({ ...wish, network: 'open' })).toEqual({
      vCpus: 4,
      seats: 2,
      machines: ['m7i.xlarge', 'm6i.xlarge', 'm5.xlarge'].map((machineType) => ({
        machineType,
        os: 'windows',
        isSpot: false,
        volumeGiB: 60,
        hasPublicAddress: true,
      })),
    });
    expect(kit.provider.offer?.({ ...wish, image: 'nothing', network: 'open' })).toBeNull();
  });
});

describe('row 1: a launch whose caller died before it was recorded', () => {
  it('is noted before it is sent, with the token that it is sent with', async () => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    let noted = 0;
    kit.wire.on(RunInstancesCommand).callsFake(() => {
      noted = log.notes.length;
      return { Instances: [instance('i-1')] };
    });
    await kit.provider.acquire(ec2Spec(), log);
    expect(noted).toBe(1);
    expect(log.notes).toEqual(['1 m7i.large us-east-1a']);
  });

  it('is found again by its tags, and nothing is launched for a second time', async () => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    log.last = { launchTry: 1, pool: 'm7i.large us-east-1a', refused: false };
    kit.tells(instance('i-old', 'running'));
    expect((await kit.provider.acquire(ec2Spec(), log)).sandboxId).toBe('i-old');
    expect(kit.launches).toEqual([]);
    const [asked] = kit.wire.commandCalls(DescribeInstancesCommand);
    expect(asked?.args[0].input.Filters).toEqual([
      { Name: 'tag:examhall:attempt', Values: [ATTEMPT] },
      { Name: 'tag:examhall:stage', Values: ['test'] },
      { Name: 'instance-state-name', Values: ['pending', 'running', 'stopping', 'stopped'] },
    ]);
  });

  it('is repeated in the pool and with the token that were noted while tags do not show it yet', async () => {
    const kit = new Ec2Kit();
    const log = new FakeLaunchLog();
    kit.wire
      .on(RunInstancesCommand)
      .rejectsOnce(ec2Error('InsufficientInstanceCapacity'))
      .rejectsOnce(ec2Error('TimeoutError'));
    await expect(kit.provider.acquire(ec2Spec(), log)).rejects.toMatchObject({ name: 'ProvisionFailedError' });
    log.coolingPools.push('m7i.large us-east-1a');
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-2')] });
    await kit.provider.acquire(ec2Spec(), log);
    const [, second, third] = kit.launches;
    expect(third).toMatchObject({ SubnetId: 'subnet-b', ClientToken: second?.ClientToken });
    expect(kit.launches.length).toBe(3);
  });
});

describe('row 4: a resource without tags', () => {
  it('is never made: machine, volume and interface get every tag with the launch itself, cut to what EC2 takes', async () => {
    const kit = new Ec2Kit();
    kit.wire.on(RunInstancesCommand).resolves({ Instances: [instance('i-1')] });
    const attemptId = 'a'.repeat(300);
    await kit.provider.acquire(ec2Spec({ attemptId, tags: { 'examhall:owner': 'me' } }), new FakeLaunchLog());
    const specifications = kit.launches[0]?.TagSpecifications ?? [];
    expect(specifications.map(({ ResourceType }) => ResourceType)).toEqual(['instance', 'volume', 'network-interface']);
    for (const { Tags } of specifications)
      expect(Tags).toEqual([
        { Key: 'team', Value: 'research' },
        { Key: 'examhall:owner', Value: 'me' },
        { Key: 'examhall:attempt', Value: 'a'.repeat(256) },
        { Key: 'examhall:expires-at', Value: '2099-01-01T00:00:00.000Z' },
        { Key: 'examhall:stage', Value: 'test' },
      ]);
  });
});
