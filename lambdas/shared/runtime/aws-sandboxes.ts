import path from 'node:path';
import { createUnavailableChannels, createUnavailableProviders } from '#adapters/unavailable-sandboxes';
import type { Need } from '#contracts/needs';
import type { BootArchive } from '#adapters/boot-archive';
import { ExamHallError } from '#core/errors';
import type { ArtifactStore } from '#ports/artifact-store';
import type { Clock } from '#ports/clock';
import type { GuestCalls } from '#ports/guest-calls';
import type { Channels, Providers } from '#ports/ports';
import type { UnitStore } from '#ports/unit-store';
import { noteCommand } from '#usecases/steps/commands';
import { absentPort } from './absent-port.ts';
import { s3Objects, valueOf } from './aws-adapters.ts';
import type { AwsEnvironment } from './aws-environment.ts';
import { staticChannel, staticProvider, type StaticPorts } from './aws-static-machines.ts';

interface SandboxPorts {
  readonly needs: readonly Need[];
  readonly env: AwsEnvironment;
  readonly clock: Clock;
  readonly unitStore: UnitStore;
}

/** File beside a function that launches, put there by the bundler. */
const BOOT_ARCHIVE = 'boot.tar.gz';
/** `adaptive` waits before each call once EC2 has throttled one; a shortage of machines looks like a fault, and is no reason to repeat for long. */
const EC2 = { retryMode: 'adaptive', maxAttempts: 3 } as const;
const SSM = { retryMode: 'adaptive', maxAttempts: 5 } as const;
/** Longer than the function that passes calls on may take, which sends nothing twice by itself. */
const CALL = { maxAttempts: 1, requestHandler: { requestTimeout: 680_000 } } as const;

/** Providers of a deployment: EC2 and given machines where sandboxes are declared, every other refused by name. */
export async function cloudProviders(ports: SandboxPorts): Promise<Providers> {
  const { needs, env, clock } = ports;
  const unavailable = createUnavailableProviders();
  const accesses = needs.flatMap((need) => (need.port === 'sandboxes' ? [need.access] : []));
  if (accesses.length === 0) return unavailable;
  const { EC2Client } = await import('@aws-sdk/client-ec2');
  const { createEc2Provider } = await import('#adapters/ec2-provider');
  const aws = createEc2Provider({
    client: new EC2Client(EC2),
    settings: valueOf(env, 'EXAMHALL_SANDBOXES'),
    clock,
    boot: accesses.includes('launch') ? await bootArchive(env) : NO_BOOT,
  });
  const all = [aws, await staticProvider(staticPorts(ports), needs)];
  return { get: (name) => all.find((each) => each.name === name) ?? unavailable.get(name), all: () => all };
}

/** Of functions that launch nothing. */
const NO_BOOT: BootArchive = {
  archive: () => {
    const message = 'a function that launches nothing asks for the boot archive; declare sandboxes (launch)';
    return Promise.reject(new ExamHallError('EnvironmentInvalidError', message));
  },
};

async function bootArchive(env: AwsEnvironment): Promise<BootArchive> {
  const { createBootArchive } = await import('#adapters/boot-archive');
  const artifacts = await s3Objects(['tasks'], env);
  return createBootArchive({ artifacts, file: path.join(import.meta.dirname, BOOT_ARCHIVE) });
}

function staticPorts({ needs, env, clock, unitStore }: SandboxPorts): StaticPorts {
  const hosts = env.EXAMHALL_STATIC_HOSTS ?? [];
  const isDeclared = needs.some(({ port }) => port === 'staticMachines');
  const guestCalls = isDeclared ? onFirstCall(async () => await lambdaGuestCalls(env, clock)) : null;
  return { unitStore, clock, hosts, guestCalls, folder: import.meta.dirname };
}

/** Made when it is first asked: most functions that may ask given machines never meet one. */
function onFirstCall(make: () => Promise<GuestCalls>): GuestCalls {
  let made: Promise<GuestCalls> | undefined;
  return { answer: async (...asked) => await (await (made ??= make())).answer(...asked) };
}

/** Channels of a deployment: Systems Manager for machines of EC2, calls over the network for given ones. */
export async function cloudChannels(ports: SandboxPorts): Promise<Channels> {
  const { needs, env, clock, unitStore } = ports;
  const unavailable = createUnavailableChannels();
  const accesses = needs.flatMap((need) => (need.port === 'channel' ? [need.access] : []));
  if (accesses.length === 0) return unavailable;
  const { SSMClient } = await import('@aws-sdk/client-ssm');
  const { createSsmChannel } = await import('#adapters/ssm-channel');
  const ssm = createSsmChannel({
    ssm: new SSMClient(SSM),
    artifacts: accesses.includes('jobs') ? await s3Objects(['artifacts'], env) : absentPort<ArtifactStore>('artifacts'),
    settings: valueOf(env, 'EXAMHALL_SANDBOXES'),
    guestCalls: accesses.includes('call') ? await lambdaGuestCalls(env, clock) : null,
    clock,
    onCommand: async (commandId, jobId) => await noteCommand({ unitStore, clock }, commandId, jobId),
  });
  const cua = await staticChannel(staticPorts(ports));
  return {
    for: (sandbox) => {
      if (sandbox.channel === 'ssm') return ssm;
      return sandbox.provider === 'static' ? cua : unavailable.for(sandbox);
    },
  };
}

/** The function in the sandboxes' network, for those that may have it pass calls on. */
async function lambdaGuestCalls(env: AwsEnvironment, clock: Clock): Promise<GuestCalls> {
  const { LambdaClient } = await import('@aws-sdk/client-lambda');
  const { createCallGuest } = await import('#adapters/call-guest');
  return createCallGuest({
    lambda: new LambdaClient(CALL),
    functionName: valueOf(env, 'EXAMHALL_CALL_GUEST_FUNCTION_ARN'),
    clock,
  });
}

/** What that function itself calls with; it needs no client of AWS. */
export async function directGuestCalls(): Promise<GuestCalls> {
  const { createGuestCalls } = await import('#adapters/cua-guest-calls');
  return createGuestCalls();
}
