import {
  CreateLaunchTemplateCommand,
  DescribeNetworkInterfacesCommand,
  DescribeSubnetsCommand,
  DescribeVolumesCommand,
  EC2Client,
  type DescribeNetworkInterfacesCommandOutput,
} from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEc2Provider } from '#adapters/ec2-provider';
import type { SandboxSettings } from '#core/sandbox-settings';
import { RealClock } from '#local/clock';
import type { SandboxProvider } from '#ports/sandbox-provider';
import { sandboxSettings } from '#test/builders/sandbox-settings';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { sandboxSpec } from '#test/fakes/sandbox';
import { tier } from '#test/runner/tier';
import { describeSandboxProvider, type ProviderSubject } from './sandbox-provider-suite.ts';

const IMAGE = 'ami-12c6146b';
let attempts = 0;

type Step = (input: object, next: () => Promise<object>) => Promise<object>;

/** moto keeps no client tokens, which EC2 does: a launch with a token that was used gives what that one gave. */
function honouringTokens(): Step {
  const known = new Map<unknown, Promise<object>>();
  return async (input, next) => {
    const token: unknown = 'ClientToken' in input ? input.ClientToken : undefined;
    const answer = known.get(token) ?? next();
    known.set(token, answer);
    return await answer;
  };
}

/** moto keeps the first interface of a machine for ever, which EC2 deletes with it: it is no longer shown then. */
function hidingInterfaces(client: EC2Client): { readonly onEnd: Step; readonly onLook: Step } {
  const gone = new Set<unknown>();
  return {
    onEnd: async (input, next) => {
      const ids = 'InstanceIds' in input && Array.isArray(input.InstanceIds) ? input.InstanceIds.map(String) : [];
      const Filters = [{ Name: 'attachment.instance-id', Values: ids }];
      const { NetworkInterfaces = [] } = await client.send(new DescribeNetworkInterfacesCommand({ Filters }));
      for (const { NetworkInterfaceId } of NetworkInterfaces) gone.add(NetworkInterfaceId);
      return await next();
    },
    onLook: async (_input, next) => {
      const answer = (await next()) as { readonly output: DescribeNetworkInterfacesCommandOutput };
      const { NetworkInterfaces = [] } = answer.output;
      const left = NetworkInterfaces.filter(({ NetworkInterfaceId }) => !gone.has(NetworkInterfaceId));
      return { ...answer, output: { ...answer.output, NetworkInterfaces: left } };
    },
  };
}

/** A client of moto, mended in what EC2 does otherwise. */
function clientOf(moto: MotoServer): EC2Client {
  const client = new EC2Client(moto.clientConfig);
  const interfaces = hidingInterfaces(new EC2Client(moto.clientConfig));
  const steps: Readonly<Record<string, Step>> = {
    RunInstancesCommand: honouringTokens(),
    TerminateInstancesCommand: interfaces.onEnd,
    DescribeNetworkInterfacesCommand: interfaces.onLook,
  };
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const step = steps[commandName];
        if (step === undefined) return await next(args);
        return (await step(args.input, async () => await next(args))) as Awaited<ReturnType<typeof next>>;
      },
    { step: 'initialize', name: 'mended' },
  );
  return client;
}

async function settingsOn(client: EC2Client): Promise<SandboxSettings> {
  const { Subnets = [] } = await client.send(new DescribeSubnetsCommand({}));
  const subnets = Subnets.map(({ SubnetId, AvailabilityZone }) => ({
    id: SubnetId ?? '',
    zone: AvailabilityZone ?? '',
  }));
  const { LaunchTemplate } = await client.send(
    new CreateLaunchTemplateCommand({
      LaunchTemplateName: 'sandboxes',
      LaunchTemplateData: {
        InstanceInitiatedShutdownBehavior: 'terminate',
        MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
      },
    }),
  );
  const template = { id: LaunchTemplate?.LaunchTemplateId ?? '', version: '1' };
  const { images } = sandboxSettings();
  const [linux] = Object.values(images);
  if (linux === undefined) throw new Error('the settings of tests have no image');
  return sandboxSettings({
    networks: { open: { subnets, template } },
    images: { local: { ...linux, imageId: IMAGE } },
  });
}

function providerOf(client: EC2Client, settings: SandboxSettings): SandboxProvider {
  const archive = async () => ({ url: 'https://tasks.example/boot.tar.gz', sha256: 'a'.repeat(64) });
  return createEc2Provider({ client, settings, clock: new RealClock(), boot: { archive } });
}

async function open(): Promise<ProviderSubject> {
  const moto = await startMotoServer();
  const client = clientOf(moto);
  const settings = await settingsOn(client);
  return {
    provider: providerOf(client, settings),
    spec: () => {
      // Found by its tags, and so each request is of an attempt of its own.
      const attemptId = `of__moto__v0.${String((attempts += 1))}`;
      return { attemptId, clientToken: attemptId, ...taggedFor(attemptId) };
    },
    remove: async () => {
      client.destroy();
      await moto.stop();
    },
  };
}

const taggedFor = (attemptId: string, expiresAt = '2099-01-01T00:00:00.000Z') => ({
  tags: { 'examhall:attempt': attemptId, 'examhall:expires-at': expiresAt },
});

tier('moto')('on moto', () => {
  describeSandboxProvider('aws', open);
});

tier('moto')('what machines of EC2 leave', () => {
  let moto: MotoServer;
  let client: EC2Client;
  let provider: SandboxProvider;
  beforeAll(async () => {
    moto = await startMotoServer();
    client = clientOf(moto);
    provider = providerOf(client, await settingsOn(client));
  });
  afterAll(async () => {
    client.destroy();
    await moto.stop();
  });

  describe('row 3: a released sandbox', () => {
    it('has left no volume and no interface with our tags, and no machine that lives', async () => {
      const attemptId = 'leaves__nothing__v0.1';
      const spec = sandboxSpec({ provider: 'aws', attemptId, clientToken: attemptId, ...taggedFor(attemptId) });
      const sandbox = await provider.acquire(spec);
      const Filters = [{ Name: 'tag:examhall:stage', Values: ['test'] }];
      const volumes = async () => (await client.send(new DescribeVolumesCommand({ Filters }))).Volumes ?? [];
      expect((await volumes()).length).toBe(1);
      const report = await provider.release(sandbox, 'delete');
      expect(new Set(report.map(({ fate }) => fate))).toEqual(new Set(['gone']));
      expect(report.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['machine', 'volume']));
      expect(await volumes()).toEqual([]);
      const { NetworkInterfaces } = await client.send(new DescribeNetworkInterfacesCommand({ Filters }));
      expect(NetworkInterfaces).toEqual([]);
      expect((await provider.list()).sandboxes).toEqual([]);
    });
  });
});
