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
  const wishes = [...wishesOf(spec, image, settings), ...placeWishes(spec, settings)];
  if (network !== undefined && wishes.length === 0) return { image, network, types, subnets };
  const { snapshot } = spec;
  throw new ExamHallError('SandboxRefusedError', refusedText(spec, wishes), { provider: 'aws', snapshot, wishes });
}

function refusedText({ snapshot }: SandboxWish, wishes: readonly string[]): string {
  return `snapshot ${JSON.stringify(snapshot)}: provider aws cannot give ${wishes.join('; ')}. Change the request or the deployment's settings`;
}

/** Every wish that cannot be met, whatever the network. */
function wishesOf(wish: SandboxWish, image: Ec2Image, settings: SandboxSettings): readonly string[] {
  return [
    ...(image.os === wish.os ? [] : [`os ${wish.os} (image ${wish.image} has ${image.os})`]),
    ...(machineTypesOf(wish, settings).length > 0 ? [] : [sizeText(wish)]),
    ...(hasDriver(wish, image) ? [] : [driverText(wish, settings)]),
    ...refusedKnobs(wish, image),
  ];
}

/** Networks and zones that are not those of the deployment. */
function placeWishes(wish: SandboxWish, { networks }: SandboxSettings): readonly string[] {
  const network = networks[wish.network];
  if (network === undefined) return [`network ${wish.network} (allowed: ${Object.keys(networks).join(', ')})`];
  return network.subnets.some(isWanted(wish)) ? [] : [zoneText(wish, network)];
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

/** Why a wish would be refused; null for one that would not. Functions that plan know no networks, so those are only a launch's. */
export function refusalFor(wish: SandboxWish, settings: SandboxSettings): string | null {
  const image = Object.hasOwn(settings.images, wish.image) ? settings.images[wish.image] : undefined;
  if (image === undefined) return missingText(wish.image, settings);
  const knowsPlaces = Object.keys(settings.networks).length > 0;
  const wishes = [...wishesOf(wish, image, settings), ...(knowsPlaces ? placeWishes(wish, settings) : [])];
  return wishes.length === 0 ? null : refusedText(wish, wishes);
}

/** Zones of the environment file, where it names any. */
function isWanted({ knobs }: SandboxWish): (subnet: { readonly zone: string }) => boolean {
  const zones: unknown = knobs['zones'];
  return Array.isArray(zones) && zones.length > 0 ? ({ zone }) => zones.includes(zone) : () => true;
}

function zoneText({ knobs }: SandboxWish, { subnets }: Ec2Network): string {
  const allowed = [...new Set(subnets.map(({ zone }) => zone))].join(', ');
  return `zones ${JSON.stringify(knobs['zones'])} (allowed: ${allowed})`;
}

/** Wishes of upstream's environment files that name things of another account or cannot be met here. */
function refusedKnobs({ knobs }: SandboxWish, { imageId }: Ec2Image): readonly string[] {
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
