import {
  CancelCommandCommand,
  DescribeInstanceInformationCommand,
  GetCommandInvocationCommand,
  ListCommandInvocationsCommand,
  ListCommandsCommand,
  SendCommandCommand,
  SSMClient,
  type CommandInvocation,
} from '@aws-sdk/client-ssm';
import { existsSync } from 'node:fs';
import { EC2Client, RunInstancesCommand, StopInstancesCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { guestDocument } from '#core/guest-documents';
import { VirtualClock } from '#local/clock';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';
import { tier } from '#test/runner/tier';

/** Our own, with a pattern that the service takes and a machine's agent does not. */
const oddDocument = (): Readonly<Record<string, unknown>> =>
  JSON.parse(JSON.stringify(guestDocument('run')).replace('{5,}', '{5,8192}')) as Record<string, unknown>;

tier('isolation')('Systems Manager of the stand-in', () => {
  let clock: VirtualClock;
  let cloud: StandInCloud;
  let ssm: SSMClient;
  let ec2: EC2Client;
  beforeEach(async () => {
    clock = new VirtualClock({ isAutomatic: false });
    cloud = await StandInCloud.start({ clock, documents: { run: guestDocument('run'), odd: oddDocument() } });
    ssm = new SSMClient(cloud.clientConfig);
    ec2 = new EC2Client(cloud.clientConfig);
  });
  afterEach(async () => {
    ssm.destroy();
    ec2.destroy();
    await cloud.stop();
  });
  const launch = async (): Promise<string> => {
    const wish = { ImageId: 'ami-00000000000000001', InstanceType: 'm7i.large', MinCount: 1, MaxCount: 1 } as const;
    const { Instances } = await ec2.send(new RunInstancesCommand(wish));
    return String(Instances?.[0]?.InstanceId);
  };
  const online = async (): Promise<string> => {
    const instanceId = await launch();
    await clock.advance(40_000);
    return instanceId;
  };
  const send = async (instanceId: string, commands: string[], more: object = {}): Promise<string> => {
    const { Command } = await ssm.send(
      new SendCommandCommand({
        DocumentName: 'AWS-RunShellScript',
        InstanceIds: [instanceId],
        Parameters: { commands },
        ...more,
      }),
    );
    return String(Command?.CommandId);
  };
  const ended = async (CommandId: string): Promise<CommandInvocation> => {
    for (;;) {
      const { CommandInvocations: [found] = [] } = await ssm.send(
        new ListCommandInvocationsCommand({ CommandId, Details: true }),
      );
      if (found !== undefined && !['Pending', 'InProgress'].includes(String(found.Status))) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  it('runs shell scripts as root of a machine of its own, and tells exit code, output and errors', async () => {
    const instanceId = await online();
    const script = ['id -un', 'ls /home', 'cat /proc/1/comm', 'echo trouble >&2', 'exit 3'];
    const found = await ended(await send(instanceId, script));
    expect(found).toMatchObject({ Status: 'Failed', InstanceId: instanceId, DocumentName: 'AWS-RunShellScript' });
    expect(found.CommandPlugins).toMatchObject([{ ResponseCode: 3, Status: 'Failed' }]);
    expect(found.CommandPlugins?.[0]?.Output).toBe('root\nuser\nsh\n\n----------ERROR-------\ntrouble\n');
  });

  it('runs our own document: the guest runner says hello, and keeps its key', async () => {
    const instanceId = await online();
    const hello = async (): Promise<string | undefined> => {
      const more = { DocumentName: 'run', Parameters: { Request: ['hello'] } };
      const found = await ended(await send(instanceId, [], more));
      expect(found.Status).toBe('Success');
      expect(found.CommandPlugins?.[1]).toMatchObject({ Name: 'windows', Status: 'Success', ResponseCode: 0 });
      expect(found.CommandPlugins?.[1]?.Output).toContain('skipped due to unsatisfied preconditions');
      return found.CommandPlugins?.[0]?.Output;
    };
    const first = JSON.parse((await hello()) ?? '') as Record<string, unknown>;
    expect(first).toMatchObject({ version: 1, publicKey: expect.stringMatching(/^[\w-]{43}$/u) as unknown });
    expect(JSON.parse((await hello()) ?? '')).toMatchObject({ publicKey: first['publicKey'] });
  });

  it('refuses parameters that do not match, and documents and machines that it does not know', async () => {
    const instanceId = await launch();
    await expect(send(instanceId, ['true'])).rejects.toMatchObject({ name: 'InvalidInstanceId' });
    await clock.advance(40_000);
    const refused = [
      [{ DocumentName: 'run', Parameters: { Request: ["'; reboot"] } }, 'InvalidParameters'],
      [{ DocumentName: 'run', Parameters: {} }, 'InvalidParameters'],
      [{ DocumentName: 'run', Parameters: { Request: ['hello'], more: ['x'] } }, 'InvalidParameters'],
      [{ DocumentName: 'unknown' }, 'InvalidDocument'],
      [{ TimeoutSeconds: 5 }, 'ValidationException'],
    ] as const;
    for (const [more, name] of refused) await expect(send(instanceId, ['true'], more)).rejects.toMatchObject({ name });
    expect(cloud.commands.all.size).toBe(0);
  });

  it('takes a document that the agent then refuses, and tells of the command as failed', async () => {
    const more = { DocumentName: 'odd', Parameters: { Request: ['hello'] } };
    const found = await ended(await send(await online(), [], more));
    expect(found).toMatchObject({ Status: 'Failed', DocumentName: 'odd' });
    expect(found.CommandPlugins?.[0]?.Output).toContain('Encountered error while parsing input - internal error');
  });

  it('knows an agent from when it is online, and loses it with its machine', async () => {
    const ping = async (): Promise<readonly (string | undefined)[]> => {
      const { InstanceInformationList = [] } = await ssm.send(
        new DescribeInstanceInformationCommand({ Filters: [{ Key: 'InstanceIds', Values: [instanceId] }] }),
      );
      return InstanceInformationList.map(({ PingStatus }) => PingStatus);
    };
    const instanceId = await launch();
    expect(await ping()).toEqual([]);
    await clock.advance(40_000);
    expect(await ping()).toEqual(['Online']);
    await ec2.send(new StopInstancesCommand({ InstanceIds: [instanceId] }));
    expect(await ping()).toEqual(['ConnectionLost']);
    cloud.machines.lose(instanceId, 'spot');
    expect(await ping()).toEqual([]);
  });

  it('an agent that never comes online takes no command', async () => {
    cloud.faults.nextMachine({ neverOnline: true });
    const instanceId = await online();
    await clock.advance(3_600_000);
    await expect(send(instanceId, ['true'])).rejects.toMatchObject({ name: 'InvalidInstanceId' });
  });

  it('a command is not known at once, then has its invocation and its place in the lists', async () => {
    const instanceId = await online();
    const CommandId = await send(instanceId, ['printf "%030000d" 1']);
    const get = new GetCommandInvocationCommand({ CommandId, InstanceId: instanceId });
    await expect(ssm.send(get)).rejects.toMatchObject({ name: 'InvocationDoesNotExist' });
    expect((await ended(CommandId)).CommandPlugins?.[0]?.Output).toHaveLength(2_500);
    const { StandardOutputContent, Status, ResponseCode } = await ssm.send(get);
    expect([StandardOutputContent?.length, Status, ResponseCode]).toEqual([24_000, 'Success', 0]);
    const { Commands } = await ssm.send(new ListCommandsCommand({ InstanceId: instanceId }));
    expect(Commands).toMatchObject([{ CommandId, DocumentName: 'AWS-RunShellScript', Status: 'Success' }]);
  });

  it('delivery and execution have limits of their own', async () => {
    const instanceId = await online();
    const running = await send(instanceId, [], {
      Parameters: { commands: ['touch /root/begun; sleep 600'], executionTimeout: ['150'] },
    });
    const begun = `${await cloud.guests.diskOf(instanceId)}/root/begun`;
    await expect.poll(() => existsSync(begun), { timeout: 10_000 }).toBe(true);
    cloud.machines.lose(await online(), 'status-check');
    const [, impaired] = [...cloud.machines.all.keys()];
    const undelivered = await send(String(impaired), ['true'], { TimeoutSeconds: 60 });
    await clock.advance(61_000);
    expect(await ended(undelivered)).toMatchObject({ StatusDetails: 'Delivery Timed Out', Status: 'TimedOut' });
    expect(cloud.commands.all.get(running)?.status).toBe('InProgress');
    await clock.advance(60_000);
    expect(await ended(running)).toMatchObject({ StatusDetails: 'Execution Timed Out', Status: 'TimedOut' });
  });

  it('an agent runs five commands at once, and a cancelled one leaves its place', async () => {
    const instanceId = await online();
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push(await send(instanceId, ['sleep 600']));
    const statuses = (): readonly string[] => [...cloud.commands.all.values()].map(({ status }) => status);
    expect(statuses()).toEqual([...Array.from({ length: 5 }, () => 'InProgress'), 'Pending']);
    await ssm.send(new CancelCommandCommand({ CommandId: ids[0] }));
    expect((await ended(String(ids[0]))).Status).toBe('Cancelled');
    await expect
      .poll(statuses, { timeout: 10_000 })
      .toEqual(['Cancelled', ...Array.from({ length: 5 }, () => 'InProgress')]);
  });
});
