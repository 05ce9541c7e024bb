import type {
  DescribeImagesRequest,
  DescribeImagesResult,
  DescribeInstancesRequest,
  DescribeInstancesResult,
  DescribeInstanceStatusRequest,
  DescribeInstanceStatusResult,
  Instance,
  InstanceState,
} from '@aws-sdk/client-ec2';
import { matchesFilters, pageOf, tagList, type FilterFields } from './ec2-filters.ts';
import { STATE_CODES, type MachineRecord } from './machine-record.ts';
import type { Machines } from './machines.ts';
import { ServiceError } from './service-error.ts';

export function stateOf({ state }: Pick<MachineRecord, 'state'>): InstanceState {
  return { Code: STATE_CODES[state], Name: state };
}

export function describeMachine(machines: Machines, machine: MachineRecord): Instance {
  const { launch, zone, reason } = machine;
  const parts = { ...partsOf(machines, machine) };
  return {
    InstanceId: machine.instanceId,
    ImageId: launch.ImageId,
    InstanceType: launch.InstanceType,
    ClientToken: launch.ClientToken ?? '',
    State: stateOf(machine),
    LaunchTime: new Date(machine.launchedAt),
    Placement: { AvailabilityZone: zone, Tenancy: 'default' },
    PrivateIpAddress: machine.state === 'terminated' ? undefined : machine.privateIp,
    PublicIpAddress: machine.state === 'running' ? machine.publicIp : undefined,
    SubnetId: machine.state === 'terminated' ? undefined : machine.subnetId,
    Platform: machine.os === 'windows' ? 'Windows' : undefined,
    StateTransitionReason: machine.transition,
    StateReason: reason === null ? undefined : { Code: reason.code, Message: reason.message },
    IamInstanceProfile: { Arn: launch.IamInstanceProfile?.Arn },
    MetadataOptions: {
      State: 'applied',
      HttpTokens: launch.MetadataOptions?.HttpTokens ?? 'optional',
      HttpPutResponseHopLimit: launch.MetadataOptions?.HttpPutResponseHopLimit ?? 2,
      InstanceMetadataTags: launch.MetadataOptions?.InstanceMetadataTags ?? 'disabled',
    },
    Tags: tagList(machine.tags),
    ...parts,
  };
}

function partsOf({ volumes, interfaces }: Machines, { instanceId }: MachineRecord): Partial<Instance> {
  const isOurs = (part: { readonly instanceId: string | null }): boolean => part.instanceId === instanceId;
  const own = [...volumes.values()].filter(isOurs);
  return {
    RootDeviceName: own[0]?.device,
    BlockDeviceMappings: own.map(({ id, device, deleteOnTermination }) => ({
      DeviceName: device,
      Ebs: { VolumeId: id, Status: 'attached', DeleteOnTermination: deleteOnTermination },
    })),
    NetworkInterfaces: [...interfaces.values()]
      .filter(isOurs)
      .map(({ id, privateIp, subnetId, deleteOnTermination }) => ({
        NetworkInterfaceId: id,
        PrivateIpAddress: privateIp,
        SubnetId: subnetId,
        Status: 'in-use',
        Attachment: { DeviceIndex: 0, Status: 'attached', DeleteOnTermination: deleteOnTermination },
      })),
  };
}

function fieldsOf(machine: MachineRecord): FilterFields {
  return {
    'instance-id': machine.instanceId,
    'instance-state-name': machine.state,
    'instance-type': machine.type,
    'image-id': machine.launch.ImageId,
    'client-token': machine.launch.ClientToken,
    'availability-zone': machine.zone,
    'subnet-id': machine.subnetId,
    'private-ip-address': machine.privateIp,
  };
}

function find(
  machines: Machines,
  { InstanceIds = [], MaxResults }: { InstanceIds?: string[] | undefined; MaxResults?: number | undefined },
): readonly MachineRecord[] {
  if (InstanceIds.length === 0) return [...machines.all.values()].filter((machine) => machines.isShown(machine));
  if (MaxResults !== undefined)
    throw new ServiceError(
      'InvalidParameterCombination',
      'The parameter instancesSet cannot be used with the parameter maxResults',
    );
  return InstanceIds.map((instanceId) => machines.look(instanceId));
}

export function describeInstances(machines: Machines, request: DescribeInstancesRequest): DescribeInstancesResult {
  const { Filters = [] } = request;
  const found = find(machines, request).filter((machine) => matchesFilters(Filters, machine.tags, fieldsOf(machine)));
  const { items, NextToken } = pageOf(found, request);
  const Reservations = items.map((machine) => ({
    ReservationId: `r-${machine.instanceId.slice(2)}`,
    Instances: [describeMachine(machines, machine)],
  }));
  return { Reservations, NextToken };
}

export function describeInstanceStatus(
  machines: Machines,
  request: DescribeInstanceStatusRequest,
): DescribeInstanceStatusResult {
  const { Filters = [], IncludeAllInstances = false } = request;
  const found = find(machines, request)
    .filter(({ state }) => IncludeAllInstances || state === 'running')
    .filter((machine) => matchesFilters(Filters, machine.tags, fieldsOf(machine)));
  const { items, NextToken } = pageOf(found, request);
  const InstanceStatuses = items.map((machine) => ({
    InstanceId: machine.instanceId,
    AvailabilityZone: machine.zone,
    InstanceState: stateOf(machine),
    InstanceStatus: { Status: machine.isImpaired ? ('impaired' as const) : ('ok' as const) },
    SystemStatus: { Status: machine.isImpaired ? ('impaired' as const) : ('ok' as const) },
    Events: machine.events.map((code) => ({
      InstanceEventId: `instance-event-${machine.instanceId.slice(2)}`,
      Code: code,
      Description: 'The instance is running on degraded hardware',
      NotBefore: new Date(machine.launchedAt),
    })),
  }));
  return { InstanceStatuses, NextToken };
}

export function describeImages(machines: Machines, request: DescribeImagesRequest): DescribeImagesResult {
  const { ImageIds = [], Filters = [] } = request;
  const { images } = machines.options.settings;
  for (const id of ImageIds) {
    if (images.some(({ imageId }) => imageId === id)) continue;
    throw new ServiceError('InvalidAMIID.NotFound', `The image id '[${id}]' does not exist`);
  }
  const found = images
    .filter(({ imageId }) => ImageIds.length === 0 || ImageIds.includes(imageId))
    .map((image) => ({ ...image, tagMap: new Map(Object.entries(image.tags ?? {})) }))
    .filter(({ tagMap, imageId }) => matchesFilters(Filters, tagMap, { 'image-id': imageId, state: 'available' }));
  return {
    Images: found.map(({ imageId, os, rootDevice, tagMap }) => ({
      ImageId: imageId,
      State: 'available',
      RootDeviceName: rootDevice,
      RootDeviceType: 'ebs',
      Platform: os === 'windows' ? 'Windows' : undefined,
      Tags: tagList(tagMap),
    })),
  };
}
