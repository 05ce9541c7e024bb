import { EC2Client, RunInstancesCommand, TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import { SendCommandCommand, SSMClient } from '@aws-sdk/client-ssm';
import { access } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { guestDocument } from '#core/guest-documents';
import { VirtualClock } from '#local/clock';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';
import type { CommandEvent } from '#test/emulators/cloud/ssm-commands';
import { tier } from '#test/runner/tier';

const settled = async (check: () => void): Promise<void> => {
  await expect.poll(() => (check(), true), { timeout: 10_000 }).toBe(true);
};

tier('isolation')('Systems Manager of the stand-in, with faults', () => {
  let clock: VirtualClock;
  let cloud: StandInCloud;
  let ssm: SSMClient;
  let ec2: EC2Client;
  const events: CommandEvent[] = [];
  beforeEach(async () => {
    events.length = 0;
    clock = new VirtualClock({ isAutomatic: false });
    const onCommandEvent = (event: CommandEvent): void => void events.push(event);
    const documents = { run: guestDocument('run') };
    cloud = await StandInCloud.start({ clock, onCommandEvent, documents });
    ssm = new SSMClient({ ...cloud.clientConfig, maxAttempts: 1 });
    ec2 = new EC2Client(cloud.clientConfig);
  });
  afterEach(async () => {
    ssm.destroy();
    ec2.destroy();
    await cloud.stop();
  });
  const online = async (): Promise<string> => {
    const wish = { ImageId: 'ami-00000000000000001', InstanceType: 'm7i.large', MinCount: 1, MaxCount: 1 } as const;
    const { Instances } = await ec2.send(new RunInstancesCommand(wish));
    await clock.advance(40_000);
    return String(Instances?.[0]?.InstanceId);
  };
  const send = async (instanceId: string, script: string): Promise<string> => {
    const call = { DocumentName: 'AWS-RunShellScript', InstanceIds: [instanceId], Parameters: { commands: [script] } };
    return String((await ssm.send(new SendCommandCommand(call))).Command?.CommandId);
  };
  const statuses = (): readonly string[] => events.map(({ status }) => status);
  const done = async (commandId: string): Promise<void> => {
    await settled(() => expect(cloud.commands.all.get(commandId)?.status).toBe('Success'));
  };

  it('tells of a command’s begin and end; the end can be lost, told twice, and late', async () => {
    const instanceId = await online();
    cloud.faults.nextEvent({}, 'AWS-RunShellScript');
    cloud.faults.nextEvent({ copies: 0 });
    cloud.faults.nextEvent({ copies: 2 });
    cloud.faults.nextEvent({ lateSeconds: 300 });
    const seen: string[][] = [];
    for (let count = 0; count < 4; count += 1) {
      events.length = 0;
      await done(await send(instanceId, 'true'));
      seen.push([...statuses()]);
    }
    const twice = ['InProgress', 'Success', 'Success'];
    expect(seen).toEqual([['InProgress', 'Success'], ['InProgress'], twice, ['InProgress']]);
    await clock.advance(300_000);
    expect(statuses()).toEqual(['InProgress', 'Success']);
    expect(events[1]).toMatchObject({ 'instance-id': instanceId, 'document-name': 'AWS-RunShellScript' });
  });

  it('a machine that is lost takes all its processes and its disk with it, and tells nothing', async () => {
    const instanceId = await online();
    const commandId = await send(instanceId, 'echo begun > /root/note; sleep 600');
    const note = `${await cloud.guests.diskOf(instanceId)}/root/note`;
    await settled(() => expect(cloud.commands.all.get(commandId)?.status).toBe('InProgress'));
    await expect
      .poll(
        () =>
          access(note).then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true);
    cloud.machines.lose(instanceId, 'host');
    await expect
      .poll(
        () =>
          access(note).then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(false);
    expect(statuses()).toEqual(['InProgress']);
    expect(cloud.commands.all.get(commandId)?.status).toBe('InProgress');
    await expect(send(instanceId, 'true')).rejects.toMatchObject({ name: 'InvalidInstanceId' });
  });

  it('what runs on a machine that hangs in its shutdown runs on', async () => {
    cloud.faults.nextMachine({ terminateSeconds: 3600 });
    const instanceId = await online();
    const commandId = await send(instanceId, 'sleep 1; echo still here');
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [instanceId] }));
    await done(commandId);
    expect(cloud.commands.all.get(commandId)?.steps[0]?.stdout).toBe('still here\n');
  });

  it('a send that gets no answer has been sent; a throttled one has not', async () => {
    const instanceId = await online();
    cloud.faults.loseAnswers('SendCommand');
    await expect(send(instanceId, 'true')).rejects.toThrow();
    expect(cloud.commands.all.size).toBe(1);
    cloud.faults.throttle('SendCommand');
    await expect(send(instanceId, 'true')).rejects.toMatchObject({ name: 'ThrottlingException' });
    expect(cloud.commands.all.size).toBe(1);
  });

  it('a screen can be black, and a console session can be missing', async () => {
    cloud.faults.nextMachine({ blackScreen: true });
    const instanceId = await online();
    const call = { DocumentName: 'run', InstanceIds: [instanceId], Parameters: { Request: ['hello'] } };
    const isScreenBlack = async (): Promise<unknown> => {
      const commandId = String((await ssm.send(new SendCommandCommand(call))).Command?.CommandId);
      await done(commandId);
      const said = JSON.parse(cloud.commands.all.get(commandId)?.steps[0]?.stdout ?? '') as Record<string, object>;
      return new Map(Object.entries(said['state'] ?? {})).get('isScreenBlack');
    };
    await expect.poll(isScreenBlack, { timeout: 10_000 }).toBe(true);
  });

  it('a network reaches the screen of a machine by its private address, and no other', async () => {
    const instanceId = await online();
    await done(await send(instanceId, 'true'));
    const url = `http://${String(cloud.machines.all.get(instanceId)?.privateIp)}:5000`;
    const status = async (): Promise<unknown> => await (await fetch(`${await cloud.doorTo(url)}/status`)).json();
    await expect.poll(() => status().catch(String), { timeout: 10_000 }).toMatchObject({ status: 'ok' });
    await expect(cloud.doorTo('http://10.9.9.9:5000')).rejects.toThrow('no machine that runs has 10.9.9.9');
  });
});
