import { ec2MachineTypes, ec2VCpus, isEc2Name } from '#core/ec2-machine-types';
import { ExamHallError } from '#core/errors';
import { parseMachineType } from '#core/machine-type';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { SandboxOffer, SandboxSpec, SandboxWish } from '#ports/sandbox-provider';

export type Ec2Image = SandboxSettings['images'][string];
type Ec2Network = NonNullable<SandboxSettings['networks']['open']>;

/** What of the settings answers one request. */
export interface Ec2Choice {
  readonly image: Ec2Image;
  readonly network: Ec2Network;
  readonly types: readonly string[];
  /** Subnets by zone, in the order of preference. */
  readonly subnets: ReadonlyMap<string, string>;
}

/** @throws ImageMissingError | SandboxRefusedError naming what cannot be given and what can. */
export function chooseFor(spec: SandboxSpec, settings: SandboxSettings): Ec2Choice {
  const image = imageOf(spec.image, settings);
  const types = machineTypesOf(spec, settings);
  const network = settings.networks[spec.network];
  const subnets = new Map((network?.subnets ?? []).filter(isWanted(spec)).map(({ zone, id }) => [zone, id]));
  const wishes = [
    ...(image.os === spec.os ? [] : [`os ${spec.os} (image ${spec.image} has ${image.os})`]),
    ...(types.length > 0 ? [] : [sizeText(spec)]),
    ...(hasDriver(spec, image) ? [] : [driverText(spec, settings)]),
    ...(network === undefined
      ? [`network ${spec.network} (allowed: ${Object.keys(settings.networks).join(', ')})`]
      : []),
    ...(network !== undefined && subnets.size === 0 ? [zoneText(spec, network)] : []),
    ...refusedKnobs(spec, image),
  ];
  if (network !== undefined && wishes.length === 0) return { image, network, types, subnets };
  const message = `snapshot ${JSON.stringify(spec.snapshot)}: provider aws cannot give ${wishes.join('; ')}. Change the request or the deployment's settings`;
  throw new ExamHallError('SandboxRefusedError', message, { provider: 'aws', snapshot: spec.snapshot, wishes });
}

function imageOf(name: string, { images }: SandboxSettings): Ec2Image {
  const image = Object.hasOwn(images, name) ? images[name] : undefined;
  if (image !== undefined) return image;
  throw new ExamHallError('ImageMissingError', missingText(name, { images }), { image: name });
}

function missingText(name: string, { images }: Pick<SandboxSettings, 'images'>): string {
  const known = Object.keys(images).join(', ');
  return `this deployment has no image ${JSON.stringify(name)}; it has ${known === '' ? 'none' : known}. Add it to sandboxes.images of its settings, or name another`;
}

function machineTypesOf(wish: SandboxWish, settings: SandboxSettings): readonly string[] {
  const machineType = wish.machineType ?? null;
  const gpus = wish.gpu ? Math.max(1, parseMachineType(machineType ?? '')?.gpus ?? 1) : 0;
  return ec2MachineTypes({ machineType, vCpus: wish.vCpus, memoryMiB: wish.memoryMiB, gpus }, settings.machineTypes);
}

function sizeText({ machineType, vCpus, memoryMiB, gpu }: SandboxWish): string {
  const size = `${String(vCpus)} vCPUs, ${String(memoryMiB)} MiB${gpu ? ' and a GPU' : ''}`;
  const named = machineType === null || machineType === undefined ? size : `${machineType}${gpu ? ' with a GPU' : ''}`;
  return `a machine of ${named} (name its EC2 types in sandboxes.machineTypes of the settings)`;
}

function hasDriver({ gpu }: SandboxWish, image: Ec2Image): boolean {
  return !gpu || image.gpu === true;
}

function driverText({ image }: SandboxWish, { images }: SandboxSettings): string {
  const known = Object.keys(images).filter((name) => images[name]?.gpu === true);
  return `a GPU with image ${image}, which has no driver for one (images with gpu: true in sandboxes.images of the settings: ${known.join(', ') || 'none'})`;
}

/** Why a wish would be refused, whatever its network; null for one that would not. */
export function refusalFor(wish: SandboxWish, settings: SandboxSettings): string | null {
  const image = Object.hasOwn(settings.images, wish.image) ? settings.images[wish.image] : undefined;
  if (image === undefined) return missingText(wish.image, settings);
  if (machineTypesOf(wish, settings).length === 0) return `provider aws cannot give ${sizeText(wish)}`;
  return hasDriver(wish, image) ? null : `provider aws cannot give ${driverText(wish, settings)}`;
}

/** Zones of the environment file, where it names any. */
function isWanted({ knobs }: SandboxSpec): (subnet: { readonly zone: string }) => boolean {
  const zones: unknown = knobs['zones'];
  return Array.isArray(zones) && zones.length > 0 ? ({ zone }) => zones.includes(zone) : () => true;
}

function zoneText({ knobs }: SandboxSpec, { subnets }: Ec2Network): string {
  const allowed = [...new Set(subnets.map(({ zone }) => zone))].join(', ');
  return `zones ${JSON.stringify(knobs['zones'])} (allowed: ${allowed})`;
}

/** Wishes of upstream's environment files that name things of another account or cannot be met here. */
function refusedKnobs({ knobs }: SandboxSpec, { imageId }: Ec2Image): readonly string[] {
  const { ami, tenancy } = knobs;
  return [
    ...(ami === undefined || ami === null || ami === imageId
      ? []
      : [`ami ${JSON.stringify(ami)} (the image is ${imageId}; examhall images adopt takes another one in)`]),
    ...(tenancy === undefined || tenancy === null || tenancy === 'default'
      ? []
      : [`tenancy ${JSON.stringify(tenancy)} (allowed: default)`]),
  ];
}

/** What a wish would take, by the settings alone; null when it would be refused. */
export function offerFor(wish: SandboxWish, settings: SandboxSettings): SandboxOffer | null {
  const image = Object.hasOwn(settings.images, wish.image) ? settings.images[wish.image] : undefined;
  const types = machineTypesOf(wish, settings);
  if (image === undefined || refusalFor(wish, settings) !== null) return null;
  return {
    machines: types.map((machineType) => ({
      machineType,
      os: image.os,
      isSpot: false,
      volumeGiB: image.volumeGiB,
      hasPublicAddress: wish.network === 'open',
    })),
    vCpus: Math.max(...types.filter(isEc2Name).map((type) => ec2VCpus(type) ?? 0), wish.vCpus),
    seats: image.seats,
  };
}
