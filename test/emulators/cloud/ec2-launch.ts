import { createHash } from 'node:crypto';
import type { BlockDeviceMapping, Reservation, RunInstancesRequest, Tag } from '@aws-sdk/client-ec2';
import type { MachineImage, Subnet, TemplateData } from './cloud-settings.ts';
import { describeMachine } from './ec2-describe.ts';
import { vCpusOf, type MachineRecord, type Tags } from './machine-record.ts';
import type { Machines } from './machines.ts';
import { ServiceError } from './service-error.ts';

const MAX_USER_DATA_BYTES = 16_384;

/** `RunInstances` of one machine. */
export function runInstances(machines: Machines, request: RunInstancesRequest): Reservation {
  checkForm(request);
  const known = findByToken(machines, request);
  const machine = known ?? launch(machines, request);
  return {
    ReservationId: `r-${machine.instanceId.slice(2)}`,
    OwnerId: '123456789012',
    Instances: [describeMachine(machines, machine)],
  };
}

function checkForm({ ClientToken = '', MinCount, MaxCount, UserData = '', ...request }: RunInstancesRequest): void {
  if (MinCount !== 1 || MaxCount !== 1)
    throw new ServiceError('InvalidParameterValue', 'one machine for each call, here');
  if (!/^[\x20-\x7e]{0,64}$/u.test(ClientToken))
    throw new ServiceError('InvalidParameterValue', 'Client token is too long or not ASCII.');
  if (Buffer.from(UserData, 'base64').byteLength > MAX_USER_DATA_BYTES)
    throw new ServiceError('InvalidParameterValue', 'User data is limited to 16384 bytes');
  for (const { Tags: tags = [] } of request.TagSpecifications ?? []) checkTags(tags);
}

function checkTags(tags: readonly Tag[]): void {
  if (tags.length > 50) throw new ServiceError('TagLimitExceeded', 'The maximum number of tags is 50');
  for (const { Key = '', Value = '' } of tags) {
    if (Key === '' || Key.length > 128 || Key.startsWith('aws:'))
      throw new ServiceError('InvalidParameterValue', `Tag key '${Key}' is invalid`);
    if (Value.length > 256) throw new ServiceError('InvalidParameterValue', `Tag value exceeds 256 characters`);
  }
  if (new Set(tags.map(({ Key }) => Key)).size !== tags.length)
    throw new ServiceError('InvalidParameterValue', 'Duplicate tag keys');
}

function findByToken(machines: Machines, request: RunInstancesRequest): MachineRecord | undefined {
  const { ClientToken } = request;
  const used = ClientToken === undefined ? undefined : machines.tokens.get(ClientToken);
  if (used === undefined) return undefined;
  if (used.fingerprint !== fingerprint(request))
    throw new ServiceError('IdempotentParameterMismatch', 'Arguments on this idempotent request are inconsistent');
  const machine = machines.all.get(used.instanceId);
  if (machine !== undefined && machine.state !== 'terminated') return machine;
  throw new ServiceError('IdempotentInstanceTerminated', 'The instance of this client token has been terminated');
}

function fingerprint(request: RunInstancesRequest): string {
  return createHash('sha256')
    .update(canonical({ ...request, ClientToken: undefined }))
    .digest('hex');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return value === undefined ? '' : JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${name}:${canonical(field)}`).join()}}`;
}

function launch(machines: Machines, request: RunInstancesRequest): MachineRecord {
  const { faults, settings } = machines.options;
  const joined = joinTemplate(machines, request);
  const image = settings.images.find(({ imageId }) => imageId === joined.ImageId);
  if (image === undefined)
    throw new ServiceError('InvalidAMIID.NotFound', `The image id '[${String(joined.ImageId)}]' does not exist`);
  const subnet = findSubnet(settings.subnets, joined);
  const type = joined.InstanceType ?? 'm1.small';
  checkQuota(machines, type);
  if (faults.isSoldOut(type, subnet.zone)) {
    const message = `We currently do not have sufficient ${type} capacity in the Availability Zone you requested (${subnet.zone}).`;
    throw new ServiceError('InsufficientInstanceCapacity', message, 500);
  }
  const machine = record(machines, { launch: joined, image, subnet, type });
  machines.add(machine);
  addVolumes(machines, machine, image);
  addInterface(machines, machine);
  const { ClientToken } = request;
  if (ClientToken !== undefined)
    machines.tokens.set(ClientToken, { fingerprint: fingerprint(request), instanceId: machine.instanceId });
  return machine;
}

function checkQuota(machines: Machines, type: string): void {
  const { vCpuQuota } = machines.options.faults;
  const inUse = [...machines.all.values()].filter(({ state }) => state !== 'terminated' && state !== 'stopped');
  const wanted = inUse.reduce((sum, machine) => sum + vCpusOf(machine.type), vCpusOf(type));
  if (vCpuQuota === null || wanted <= vCpuQuota) return;
  const message = `You have requested more vCPU capacity than your current vCPU limit of ${String(vCpuQuota)} allows for the instance bucket that the specified instance type belongs to.`;
  throw new ServiceError('VcpuLimitExceeded', message);
}

function joinTemplate(machines: Machines, request: RunInstancesRequest): RunInstancesRequest {
  const wanted = request.LaunchTemplate;
  if (wanted === undefined) return request;
  const named = machines.options.settings.templates.filter(({ id }) => id === wanted.LaunchTemplateId);
  if (named.length === 0)
    throw new ServiceError(
      'InvalidLaunchTemplateId.NotFound',
      `The launch template ${String(wanted.LaunchTemplateId)} does not exist`,
    );
  const template = named.find(({ version }) => version === wanted.Version);
  if (template === undefined)
    throw new ServiceError(
      'InvalidLaunchTemplateId.VersionNotFound',
      `Could not find version ${String(wanted.Version)}`,
    );
  const BlockDeviceMappings = joinDevices(template.data, request);
  return { ...template.data, ...request, BlockDeviceMappings };
}

function joinDevices(template: TemplateData, request: RunInstancesRequest): BlockDeviceMapping[] {
  const joined = new Map<string, BlockDeviceMapping>();
  for (const mapping of [...(template.BlockDeviceMappings ?? []), ...(request.BlockDeviceMappings ?? [])]) {
    const device = mapping.DeviceName ?? '';
    joined.set(device, { ...mapping, Ebs: { ...joined.get(device)?.Ebs, ...mapping.Ebs } });
  }
  return [...joined.values()];
}

function findSubnet(subnets: readonly Subnet[], request: RunInstancesRequest): Subnet {
  const id = request.SubnetId ?? request.NetworkInterfaces?.[0]?.SubnetId;
  const found = id === undefined ? subnets[0] : subnets.find((subnet) => subnet.id === id);
  if (found === undefined)
    throw new ServiceError('InvalidSubnetID.NotFound', `The subnet ID '${String(id)}' does not exist`);
  return found;
}

interface Launched {
  readonly launch: RunInstancesRequest;
  readonly image: MachineImage;
  readonly subnet: Subnet;
  readonly type: string;
}

function record(machines: Machines, { launch, image, subnet, type }: Launched): MachineRecord {
  const fault = machines.options.faults.takeMachine();
  const { onlineSeconds, addresses } = machines.options.settings;
  const instanceId = machines.newId('i');
  const number = Number.parseInt(instanceId.slice(-4), 16);
  const address = addresses[machines.launches.length];
  return {
    instanceId,
    launch,
    type,
    zone: subnet.zone,
    subnetId: subnet.id,
    os: image.os,
    privateIp: address?.privateIp ?? `10.0.${String(number >> 8)}.${String(number & 255)}`,
    publicIp: address?.publicIp,
    tags: tagsOf(launch, 'instance'),
    launchedAt: machines.now,
    fault,
    state: 'pending',
    hiddenLooks: fault.hiddenLooks ?? 0,
    onlineAt:
      fault.neverOnline === true
        ? Number.POSITIVE_INFINITY
        : machines.now + (fault.onlineSeconds ?? onlineSeconds) * 1000,
    reason: null,
    transition: '',
    endingAt: null,
    terminatedAt: null,
    events: [],
    isImpaired: false,
    shutdownBehavior: launch.InstanceInitiatedShutdownBehavior === 'terminate' ? 'terminate' : 'stop',
    cancelTimer: () => undefined,
  };
}

function tagsOf(request: RunInstancesRequest, kind: 'instance' | 'volume' | 'network-interface'): Tags {
  const given = (request.TagSpecifications ?? []).filter(({ ResourceType }) => ResourceType === kind);
  return new Map(given.flatMap(({ Tags: tags = [] }) => tags.map(({ Key = '', Value = '' }) => [Key, Value] as const)));
}

function addVolumes(machines: Machines, machine: MachineRecord, image: MachineImage): void {
  const { launch } = machine;
  const mapped = launch.BlockDeviceMappings ?? [];
  const hasRoot = mapped.some(({ DeviceName }) => DeviceName === image.rootDevice);
  for (const { DeviceName: device = '', Ebs = {} } of hasRoot
    ? mapped
    : [{ DeviceName: image.rootDevice }, ...mapped]) {
    const id = machines.newId('vol');
    machines.volumes.set(id, {
      id,
      ...placeOf(machine),
      device,
      tags: tagsOf(launch, 'volume'),
      sizeGiB: Ebs.VolumeSize ?? 8,
      isEncrypted: Ebs.Encrypted ?? false,
      kmsKeyId: Ebs.KmsKeyId,
      deleteOnTermination: Ebs.DeleteOnTermination ?? device === image.rootDevice,
    });
  }
}

function addInterface(machines: Machines, machine: MachineRecord): void {
  const { launch, privateIp } = machine;
  const [wanted] = launch.NetworkInterfaces ?? [];
  const id = machines.newId('eni');
  const groups = wanted?.Groups ?? launch.SecurityGroupIds ?? [];
  const deleteOnTermination = wanted?.DeleteOnTermination ?? true;
  const tags = tagsOf(launch, 'network-interface');
  machines.interfaces.set(id, { id, ...placeOf(machine), privateIp, groups, tags, deleteOnTermination });
}

function placeOf({ instanceId, zone, subnetId, launchedAt }: MachineRecord): {
  instanceId: string;
  zone: string;
  subnetId: string;
  madeAt: number;
} {
  return { instanceId, zone, subnetId, madeAt: launchedAt };
}
