import {
  DeleteVolumeCommand,
  DescribeInstancesCommand,
  EC2Client,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { SendCommandCommand, SSMClient } from '@aws-sdk/client-ssm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '#local/clock';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';

const OWN = { key: 'examhall:stage', value: 'test' };

describe('the stand-in, asked by whoever has rights over a tag alone', () => {
  let cloud: StandInCloud;
  let ec2: EC2Client;
  let ssm: SSMClient;
  let clock: VirtualClock;
  beforeEach(async () => {
    clock = new VirtualClock({ isAutomatic: false });
    cloud = await StandInCloud.start({ clock, ownTag: OWN, script: () => ({ exitCode: 0, stdout: '' }) });
    ec2 = new EC2Client(cloud.clientConfig);
    ssm = new SSMClient(cloud.clientConfig);
  });
  afterEach(async () => {
    ec2.destroy();
    ssm.destroy();
    await cloud.stop();
  });

  const launch = async (stage: string): Promise<{ readonly id: string; readonly volumeId: string }> => {
    const Tags = [{ Key: OWN.key, Value: stage }];
    const { Instances: [instance] = [] } = await ec2.send(
      new RunInstancesCommand({
        ImageId: 'ami-00000000000000001',
        MinCount: 1,
        MaxCount: 1,
        TagSpecifications: (['instance', 'volume'] as const).map((ResourceType) => ({ ResourceType, Tags })),
      }),
    );
    await clock.advance(60_000);
    return {
      id: instance?.InstanceId ?? '',
      volumeId: instance?.BlockDeviceMappings?.[0]?.Ebs?.VolumeId ?? '',
    };
  };
  const end = async (...InstanceIds: string[]) => await ec2.send(new TerminateInstancesCommand({ InstanceIds }));
  const command = async (id: string) =>
    await ssm.send(
      new SendCommandCommand({
        DocumentName: 'AWS-RunShellScript',
        InstanceIds: [id],
        Parameters: { commands: ['true'] },
      }),
    );

  it('refuses to change or command what has another value, as IAM words it, and changes nothing', async () => {
    const own = await launch(OWN.value);
    const other = await launch('another');
    await expect(end(other.id)).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    await expect(end(own.id, other.id)).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    await expect(command(other.id)).rejects.toMatchObject({ name: 'AccessDeniedException' });
    const remove = ec2.send(new DeleteVolumeCommand({ VolumeId: other.volumeId }));
    await expect(remove).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    expect([...cloud.machines.all.values()].map(({ state }) => state)).toEqual(['running', 'running']);
    expect(cloud.commands.all.size).toBe(0);
  });

  it('lets it look at everything, and do with its own what it likes', async () => {
    const own = await launch(OWN.value);
    await launch('another');
    expect((await ec2.send(new DescribeInstancesCommand({}))).Reservations).toHaveLength(2);
    expect((await command(own.id)).Command?.InstanceIds).toEqual([own.id]);
    expect((await end(own.id)).TerminatingInstances).toHaveLength(1);
  });

  it('tells of what is not there as it does anybody', async () => {
    await expect(end('i-00000000000009999')).rejects.toMatchObject({ name: 'InvalidInstanceID.NotFound' });
  });
});
