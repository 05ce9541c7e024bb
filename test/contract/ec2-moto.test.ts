import {
  DescribeInstancesCommand,
  DescribeVolumesCommand,
  EC2Client,
  RunInstancesCommand,
  TerminateInstancesCommand,
  type Instance,
  type Tag,
} from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { tier } from '#test/runner/tier';
import { SANDBOX_TAGS, STAGE_TAG } from '../../infra/constructs/sandbox-tags.ts';

const TAGS: Tag[] = [...SANDBOX_TAGS, STAGE_TAG].map((Key) => ({ Key, Value: `value of ${Key}` }));
const ALIVE = ['pending', 'running', 'stopping', 'stopped', 'shutting-down'];

/** What machines will be launched, found and ended by. There is no provider for them yet; this is what it may rely on here. */
tier('moto')('EC2 on moto, with the tags of a sandbox', () => {
  let moto: MotoServer;
  let ec2: EC2Client;
  beforeAll(async () => {
    moto = await startMotoServer();
    ec2 = new EC2Client(moto.clientConfig);
  });
  afterAll(async () => {
    await moto.stop();
  });

  const launch = async (): Promise<Instance> => {
    const { Instances: [instance] = [] } = await ec2.send(
      new RunInstancesCommand({
        ImageId: 'ami-12c6146b',
        InstanceType: 'm7i.large',
        MinCount: 1,
        MaxCount: 1,
        MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
        TagSpecifications: (['instance', 'volume'] as const).map((ResourceType) => ({ ResourceType, Tags: TAGS })),
      }),
    );
    if (instance === undefined) throw new Error('nothing was launched');
    return instance;
  };

  /** As a reaper asks: by the stage's tag, never by rows of ours. */
  const alive = async (stage: string): Promise<readonly (string | undefined)[]> => {
    const Filters = [
      { Name: `tag:${STAGE_TAG}`, Values: [stage] },
      { Name: 'instance-state-name', Values: ALIVE },
    ];
    const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand({ Filters }));
    return Reservations.flatMap(({ Instances = [] }) => Instances.map(({ InstanceId }) => InstanceId));
  };

  it('machine and volume carry every tag from the launch on', async () => {
    const { InstanceId, Tags } = await launch();
    expect(TAGS.length).toBeGreaterThan(5);
    expect(Tags).toEqual(expect.arrayContaining(TAGS));
    const Filters = [{ Name: 'attachment.instance-id', Values: [String(InstanceId)] }];
    const { Volumes = [] } = await ec2.send(new DescribeVolumesCommand({ Filters }));
    expect(Volumes.length).toBeGreaterThan(0);
    for (const volume of Volumes) expect(volume.Tags).toEqual(expect.arrayContaining(TAGS));
  });

  it('a machine is found by its stage alone, until it is ended, which may be said twice', async () => {
    await moto.reset();
    const { InstanceId = '' } = await launch();
    expect(await alive(`value of ${STAGE_TAG}`)).toEqual([InstanceId]);
    expect(await alive('another')).toEqual([]);
    for (let times = 0; times < 2; times += 1) {
      await ec2.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId] }));
    }
    expect(await alive(`value of ${STAGE_TAG}`)).toEqual([]);
  });

  it('a machine that is not there is an error of that name', async () => {
    const unknown = new TerminateInstancesCommand({ InstanceIds: ['i-0123456789abcdef0'] });
    await expect(ec2.send(unknown)).rejects.toMatchObject({ name: 'InvalidInstanceID.NotFound' });
  });
});
