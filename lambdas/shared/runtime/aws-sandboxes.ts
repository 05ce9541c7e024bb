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

/** Providers of a deployment: EC2 where it is declared, every other refused by name. */
export async function ec2Providers({ needs, env, clock }: Omit<SandboxPorts, 'unitStore'>): Promise<Providers> {
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
  return { get: (name) => (name === aws.name ? aws : unavailable.get(name)), all: () => [aws] };
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

/** Channels of a deployment: Systems Manager for machines of EC2. */
export async function ssmChannels({ needs, env, clock, unitStore }: SandboxPorts): Promise<Channels> {
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
  return { for: (sandbox) => (sandbox.channel === 'ssm' ? ssm : unavailable.for(sandbox)) };
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
