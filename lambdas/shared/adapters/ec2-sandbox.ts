import type { Instance } from '@aws-sdk/client-ec2';
import { AGENT_ACCOUNTS, DEFAULT_RESOLUTION, GUEST_PATHS } from '#core/boot-script';
import { ExamHallError } from '#core/errors';
import { imageFamily, type ImageFamily } from '#core/image-family';
import { poolName } from '#core/launch-plan';
import type { GuestIsolation } from '#contracts/guest';
import type { Sandbox, SandboxSpec, TeardownResource } from '#ports/sandbox-provider';
import type { Ec2Image } from './ec2-wish.ts';

/** Stands in for families that a deployment named itself. */
const FAMILY_OF_OS = { linux: 'ale-ubuntu22', windows: 'ale-win-server' } as const;

/** The handle of a machine that was launched for this request, whether by this call or by one before it. */
export function sandboxOf(instance: Instance, spec: SandboxSpec, image: Ec2Image): Sandbox {
  const { InstanceId, InstanceType, PrivateIpAddress, Placement, LaunchTime } = instance;
  if (InstanceId === undefined || InstanceType === undefined || PrivateIpAddress === undefined) {
    const message = `EC2 launched ${InstanceId ?? 'a machine'} and told neither its type nor its address; it is asked again`;
    throw new ExamHallError('ProvisionFailedError', message, { attemptId: spec.attemptId });
  }
  const { os } = image;
  const family = familyOf(spec.image, os);
  const port = String(family.cuaPort);
  const url = `http://${PrivateIpAddress}:${port}`;
  const paths = GUEST_PATHS[os];
  return {
    sandboxId: InstanceId,
    attemptId: spec.attemptId,
    provider: 'aws',
    os,
    channel: 'ssm',
    imageRevision: image.revision ?? image.imageId,
    paths: { dataRoot: family.dataRoot, workRoot: family.workRoot, node: family.node, runnerNode: paths.runnerNode },
    agent: AGENT_ACCOUNTS[os],
    isolation: { kind: 'machine', network: 'own', reason: null },
    guestIsolation: guestIsolation(spec, os),
    desktop: {
      serverUrl: `http://127.0.0.1:${port}`,
      endpoint: { url, socketPath: null },
      env: os === 'linux' ? { DISPLAY: ':0' } : {},
      bridge: paths.bridge,
      size: spec.resolution ?? DEFAULT_RESOLUTION,
    },
    endpoint: url,
    resources: resourcesOf(instance),
    billed: {
      machineType: InstanceType,
      os,
      isSpot: instance.InstanceLifecycle === 'spot',
      volumeGiB: image.volumeGiB,
      hasPublicAddress: spec.network === 'open',
    },
    ...(LaunchTime === undefined ? {} : { launchedAt: LaunchTime.toISOString() }),
    pool: poolName(InstanceType, Placement?.AvailabilityZone ?? ''),
  };
}

function familyOf(name: string, os: 'linux' | 'windows'): ImageFamily {
  const family = imageFamily(name) ?? imageFamily(FAMILY_OF_OS[os]);
  if (family !== null) return family;
  throw new ExamHallError('ImageMissingError', `there is no image family for ${name} with ${os}`, { image: name });
}

/** Display and cua-server run as the agent's account: the end of one job must leave them. */
function guestIsolation({ privilege }: SandboxSpec, os: 'linux' | 'windows'): GuestIsolation {
  if (os === 'windows') return { kind: 'none' };
  return { kind: 'none', keepsDesktop: true, ...(privilege === 'upstream' ? { allowsSudo: true } : {}) };
}

/** The machine and what was launched with it, as far as EC2 tells already; the rest is found by its tags. */
export function resourcesOf(instance: Instance): readonly TeardownResource[] {
  const { InstanceId, BlockDeviceMappings = [], NetworkInterfaces = [] } = instance;
  const named = (kind: TeardownResource['kind'], id: string | undefined): TeardownResource[] =>
    id === undefined || id === '' ? [] : [{ kind, resourceId: id }];
  return [
    ...named('machine', InstanceId),
    ...BlockDeviceMappings.flatMap(({ Ebs }) => named('volume', Ebs?.VolumeId)),
    ...NetworkInterfaces.flatMap(({ NetworkInterfaceId }) => named('interface', NetworkInterfaceId)),
  ];
}
