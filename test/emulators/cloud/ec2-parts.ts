import type {
  DeleteNetworkInterfaceRequest,
  DeleteVolumeRequest,
  DescribeNetworkInterfacesRequest,
  DescribeNetworkInterfacesResult,
  DescribeVolumesRequest,
  DescribeVolumesResult,
} from '@aws-sdk/client-ec2';
import { matchesFilters, pageOf, tagList } from './ec2-filters.ts';
import type { Machines } from './machines.ts';
import { ServiceError } from './service-error.ts';

function byId<T>(all: ReadonlyMap<string, T>, ids: readonly string[] | undefined, code: string): readonly T[] {
  if (ids === undefined || ids.length === 0) return [...all.values()];
  return ids.map((id) => {
    const found = all.get(id);
    if (found === undefined) throw new ServiceError(code, `'${id}' does not exist.`);
    return found;
  });
}

export function describeVolumes({ volumes }: Machines, request: DescribeVolumesRequest): DescribeVolumesResult {
  const found = byId(volumes, request.VolumeIds, 'InvalidVolume.NotFound').filter((volume) =>
    matchesFilters(request.Filters ?? [], volume.tags, {
      'volume-id': volume.id,
      'attachment.instance-id': volume.instanceId ?? undefined,
      status: volume.instanceId === null ? 'available' : 'in-use',
    }),
  );
  const { items, NextToken } = pageOf(found, request);
  const Volumes = items.map((volume) => ({
    VolumeId: volume.id,
    Size: volume.sizeGiB,
    AvailabilityZone: volume.zone,
    State: volume.instanceId === null ? ('available' as const) : ('in-use' as const),
    CreateTime: new Date(volume.madeAt),
    Encrypted: volume.isEncrypted,
    KmsKeyId: volume.kmsKeyId,
    Tags: tagList(volume.tags),
    Attachments:
      volume.instanceId === null
        ? []
        : [
            {
              InstanceId: volume.instanceId,
              VolumeId: volume.id,
              Device: volume.device,
              State: 'attached' as const,
              DeleteOnTermination: volume.deleteOnTermination,
            },
          ],
  }));
  return { Volumes, NextToken };
}

export function deleteVolume({ volumes }: Machines, { VolumeId = '' }: DeleteVolumeRequest): object {
  const [volume] = byId(volumes, [VolumeId], 'InvalidVolume.NotFound');
  if (volume?.instanceId !== null)
    throw new ServiceError('VolumeInUse', `Volume ${VolumeId} is currently attached to ${String(volume?.instanceId)}`);
  volumes.delete(VolumeId);
  return {};
}

export function describeNetworkInterfaces(
  { interfaces }: Machines,
  request: DescribeNetworkInterfacesRequest,
): DescribeNetworkInterfacesResult {
  const known = byId(interfaces, request.NetworkInterfaceIds, 'InvalidNetworkInterfaceID.NotFound');
  const found = known.filter((one) =>
    matchesFilters(request.Filters ?? [], one.tags, {
      'network-interface-id': one.id,
      'attachment.instance-id': one.instanceId ?? undefined,
      status: one.instanceId === null ? 'available' : 'in-use',
    }),
  );
  const { items, NextToken } = pageOf(found, request);
  const NetworkInterfaces = items.map((one) => ({
    NetworkInterfaceId: one.id,
    AvailabilityZone: one.zone,
    SubnetId: one.subnetId,
    PrivateIpAddress: one.privateIp,
    Status: one.instanceId === null ? ('available' as const) : ('in-use' as const),
    Groups: one.groups.map((GroupId) => ({ GroupId })),
    TagSet: tagList(one.tags),
    Attachment:
      one.instanceId === null
        ? undefined
        : { InstanceId: one.instanceId, DeviceIndex: 0, DeleteOnTermination: one.deleteOnTermination },
  }));
  return { NetworkInterfaces, NextToken };
}

export function deleteNetworkInterface(
  { interfaces }: Machines,
  { NetworkInterfaceId = '' }: DeleteNetworkInterfaceRequest,
): object {
  const [one] = byId(interfaces, [NetworkInterfaceId], 'InvalidNetworkInterfaceID.NotFound');
  if (one?.instanceId !== null)
    throw new ServiceError('InvalidParameterValue', `Network interface '${NetworkInterfaceId}' is currently in use.`);
  interfaces.delete(NetworkInterfaceId);
  return {};
}
