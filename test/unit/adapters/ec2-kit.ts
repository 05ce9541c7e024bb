import {
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeNetworkInterfacesCommand,
  DescribeVolumesCommand,
  EC2Client,
  RunInstancesCommand,
  type EC2ClientResolvedConfig,
  type Instance,
  type RunInstancesCommandInput,
  type ServiceInputTypes,
  type ServiceOutputTypes,
  type InstanceStateName,
} from '@aws-sdk/client-ec2';
import { mockClient, type AwsStub } from 'aws-sdk-client-mock';
import { createEc2Provider } from '#adapters/ec2-provider';
import type { LaunchRefusal, LaunchLog, SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
import type { SandboxSettings } from '#core/sandbox-settings';
import { VirtualClock } from '#local/clock';
import { sandboxSettings } from '#test/builders/sandbox-settings';
import { sandboxSpec } from '#test/fakes/sandbox';

export const LAUNCHED = '2026-03-01T12:00:00.000Z';
export const ATTEMPT = 'first__scripted__none__demo__copy__v0.1';
export const TAGS = [
  { Key: 'examhall:attempt', Value: ATTEMPT },
  { Key: 'examhall:stage', Value: 'test' },
  { Key: 'examhall:expires-at', Value: '2099-01-01T00:00:00.000Z' },
];

/** An error as EC2 names it. */
export function ec2Error(name: string): Error {
  return Object.assign(new Error(`${name} was told`), { name });
}

export function instance(id: string, state: InstanceStateName = 'pending', more: Partial<Instance> = {}): Instance {
  return {
    InstanceId: id,
    InstanceType: 'm7i.large',
    PrivateIpAddress: '10.0.1.5',
    Placement: { AvailabilityZone: 'us-east-1a' },
    LaunchTime: new Date(LAUNCHED),
    State: { Name: state },
    Tags: TAGS,
    NetworkInterfaces: [{ NetworkInterfaceId: `eni-of-${id}` }],
    ...more,
  };
}

/** A launch log that writes down what is told it, in the order of `acts` where one is given. */
export class FakeLaunchLog implements LaunchLog {
  readonly coolingPools: string[] = [];
  readonly refusals: [string, LaunchRefusal][] = [];
  readonly notes: string[] = [];
  last: LaunchLog['last'] = null;

  async note(launch: { readonly launchTry: number; readonly pool: string }): Promise<void> {
    this.last = { ...launch, refused: false };
    this.notes.push(`${String(launch.launchTry)} ${launch.pool}`);
  }

  async refused(pool: string, refusal: LaunchRefusal): Promise<void> {
    this.refusals.push([pool, refusal]);
    if (this.last?.pool === pool) this.last = { ...this.last, refused: true };
  }
}

/** The provider over a client that answers nothing by itself, on a clock that moves by sleeping. */
export class Ec2Kit {
  readonly wire: AwsStub<ServiceInputTypes, ServiceOutputTypes, EC2ClientResolvedConfig>;
  readonly clock = new VirtualClock({ start: new Date(LAUNCHED) });
  readonly provider: SandboxProvider;

  constructor(settings: Partial<SandboxSettings> = {}) {
    const client = new EC2Client({ region: 'us-east-1' });
    this.wire = mockClient(client);
    this.wire.on(DescribeInstancesCommand).resolves({ Reservations: [] });
    this.wire.on(DescribeInstanceStatusCommand).resolves({ InstanceStatuses: [] });
    this.wire.on(DescribeVolumesCommand).resolves({ Volumes: [] });
    this.wire.on(DescribeNetworkInterfacesCommand).resolves({ NetworkInterfaces: [] });
    this.provider = createEc2Provider({
      client,
      settings: sandboxSettings(settings),
      clock: this.clock,
      boot: { archive: async () => ({ url: 'https://tasks.example/boot.tar.gz?signed', sha256: 'a'.repeat(64) }) },
    });
  }

  /** What was asked of RunInstances, in order. */
  get launches(): readonly RunInstancesCommandInput[] {
    return this.wire.commandCalls(RunInstancesCommand).map(({ args }) => args[0].input);
  }

  /** Every machine EC2 tells of from now on, whatever it is asked. */
  tells(...instances: readonly Instance[]): void {
    this.wire.on(DescribeInstancesCommand).resolves({ Reservations: [{ Instances: [...instances] }] });
  }
}

export function ec2Spec(changes: Partial<SandboxSpec> = {}): SandboxSpec {
  return sandboxSpec({
    clientToken: ATTEMPT,
    attemptId: ATTEMPT,
    provider: 'aws',
    image: 'ale-ubuntu22',
    machineType: 'e2-standard-2',
    vCpus: 2,
    memoryMiB: 8192,
    tags: { 'examhall:attempt': ATTEMPT, 'examhall:expires-at': '2099-01-01T00:00:00.000Z' },
    ...changes,
  });
}
