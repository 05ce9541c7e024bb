import {
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  EC2Client,
  RunInstancesCommand,
  TerminateInstancesCommand,
  type Instance,
  type RunInstancesCommandInput,
} from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '#local/clock';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';

describe('EC2 of the stand-in, with faults', () => {
  let clock: VirtualClock;
  let cloud: StandInCloud;
  let ec2: EC2Client;
  beforeEach(async () => {
    clock = new VirtualClock({ isAutomatic: false });
    cloud = await StandInCloud.start({ clock });
    ec2 = new EC2Client({ ...cloud.clientConfig, maxAttempts: 1 });
  });
  afterEach(async () => {
    ec2.destroy();
    await cloud.stop();
  });

  const launch = async (more: Partial<RunInstancesCommandInput> = {}): Promise<string> => {
    const { Instances } = await ec2.send(
      new RunInstancesCommand({
        ImageId: 'ami-00000000000000001',
        InstanceType: 'm7i.large',
        MinCount: 1,
        MaxCount: 1,
        ...more,
      }),
    );
    return String(Instances?.[0]?.InstanceId);
  };
  const describeOne = async (instanceId: string): Promise<Instance | undefined> => {
    const { Reservations } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [instanceId] }));
    return Reservations?.[0]?.Instances?.[0];
  };
  const terminate = async (instanceId: string, more: object = {}): Promise<unknown> =>
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [instanceId], ...more }));

  it('a type is sold out in one zone and not in the other, until it is there again', async () => {
    cloud.faults.sellOut('m7i.large', 'us-east-1a');
    const refused = { name: 'InsufficientInstanceCapacity' };
    await expect(launch({ SubnetId: 'subnet-0000000000000000a' })).rejects.toMatchObject(refused);
    await launch({ SubnetId: 'subnet-0000000000000000b' });
    await launch({ SubnetId: 'subnet-0000000000000000a', InstanceType: 'm6i.large' });
    cloud.faults.restock();
    await launch({ SubnetId: 'subnet-0000000000000000a' });
  });

  it('a quota of vCPUs counts every machine that is not terminated', async () => {
    cloud.faults.vCpuQuota = 4;
    const first = await launch();
    await launch();
    await expect(launch()).rejects.toMatchObject({ name: 'VcpuLimitExceeded' });
    await terminate(first);
    await expect(launch()).rejects.toMatchObject({ name: 'VcpuLimitExceeded' });
    await clock.advance(15_000);
    await launch();
  });

  it('throttled calls have no effect, and the client may try again', async () => {
    cloud.faults.throttle('RunInstances');
    await expect(launch()).rejects.toMatchObject({ name: 'RequestLimitExceeded' });
    expect(cloud.machines.held).toEqual([]);
    cloud.faults.throttle('RunInstances');
    const patient = new EC2Client({ ...cloud.clientConfig, maxAttempts: 3 });
    await patient.send(
      new RunInstancesCommand({
        ImageId: 'ami-00000000000000001',
        InstanceType: 'm7i.large',
        MinCount: 1,
        MaxCount: 1,
      }),
    );
    patient.destroy();
    expect(cloud.machines.all.size).toBe(1);
  });

  it('an answer can be lost after the effect; the token finds the machine', async () => {
    cloud.faults.loseAnswers('RunInstances');
    await expect(launch({ ClientToken: 'token' })).rejects.toThrow();
    expect(cloud.machines.all.size).toBe(1);
    expect([...cloud.machines.all.keys()]).toEqual([await launch({ ClientToken: 'token' })]);
    cloud.faults.loseAnswers('TerminateInstances');
    const [machine] = cloud.machines.all.keys();
    await expect(terminate(String(machine))).rejects.toThrow();
    expect((await describeOne(String(machine)))?.State?.Name).toBe('shutting-down');
  });

  it('a machine is not known yet after its launch, for so many looks', async () => {
    cloud.faults.nextMachine({ hiddenLooks: 2 });
    const instanceId = await launch();
    await expect(describeOne(instanceId)).rejects.toMatchObject({ name: 'InvalidInstanceID.NotFound' });
    expect((await ec2.send(new DescribeInstancesCommand({}))).Reservations).toEqual([]);
    expect((await describeOne(instanceId))?.State?.Name).toBe('pending');
  });

  it('a loss leaves the provider’s reason, or nothing of it', async () => {
    const reasons: (string | undefined)[] = [];
    for (const loss of ['spot', 'host', 'retired', 'operator', 'shutdown'] as const) {
      const instanceId = await launch({ InstanceInitiatedShutdownBehavior: 'terminate' });
      cloud.machines.lose(instanceId, loss);
      reasons.push((await describeOne(instanceId))?.StateReason?.Code);
    }
    const servers = ['Server.SpotInstanceTermination', 'Server.InternalError', 'Server.ScheduledStop'];
    expect(reasons).toEqual([...servers, 'Client.UserInitiatedShutdown', 'Client.InstanceInitiatedShutdown']);
    const vanished = await launch();
    cloud.machines.lose(vanished, 'vanished');
    await expect(describeOne(vanished)).rejects.toMatchObject({ name: 'InvalidInstanceID.NotFound' });
    expect(cloud.machines.held).toEqual([]);
  });

  it('a failed status check and a scheduled retirement are shown in the status', async () => {
    const [impaired, retired] = [await launch(), await launch()];
    await clock.advance(10_000);
    cloud.machines.lose(impaired, 'status-check');
    cloud.machines.lose(retired, 'retired');
    const all = new DescribeInstanceStatusCommand({ InstanceIds: [impaired, retired], IncludeAllInstances: true });
    expect((await ec2.send(all)).InstanceStatuses).toMatchObject([
      { SystemStatus: { Status: 'impaired' }, InstanceState: { Name: 'running' } },
      { Events: [{ Code: 'instance-retirement' }], InstanceState: { Name: 'terminated' } },
    ]);
  });

  it('a machine that hangs in its shutdown ends late, or at once when its system is not asked', async () => {
    cloud.faults.nextMachine({ terminateSeconds: 7200 }, { terminateSeconds: 7200 });
    const [patient, hurried] = [await launch(), await launch()];
    await clock.advance(10_000);
    for (const instanceId of [patient, hurried]) await terminate(instanceId);
    await clock.advance(60_000);
    await terminate(hurried, { Force: true, SkipOsShutdown: true });
    await clock.advance(15_000);
    expect((await describeOne(hurried))?.State?.Name).toBe('terminated');
    expect((await describeOne(patient))?.State?.Name).toBe('shutting-down');
    await clock.advance(7_200_000);
    expect((await describeOne(patient))?.State?.Name).toBe('terminated');
  });

  it('any other error can be asked for', async () => {
    cloud.faults.refuse('DescribeInstances', 'UnauthorizedOperation');
    const call = new DescribeInstancesCommand({});
    await expect(ec2.send(call)).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    await ec2.send(call);
  });
});
