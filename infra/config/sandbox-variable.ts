import type { SandboxSettings } from '#core/sandbox-settings';
import type { NetworkProfile, NetworkSettings } from './network-settings.ts';
import type { SandboxesSettings } from './sandboxes-settings.ts';

type Network = Required<SandboxSettings['networks']>[NetworkProfile];

/** What of the settings of sandboxes is known only once a stage is deployed. */
export interface SandboxPlaces {
  /** Without one nothing can be launched; what could be is known all the same. */
  readonly networks: ReadonlyMap<NetworkProfile, Network>;
  /** By image family. */
  readonly imageIds: ReadonlyMap<string, string>;
  readonly volumeKeyArn: string;
}

/** Of a stage's settings. */
export interface ToldSettings {
  readonly stage: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly sandboxes: SandboxesSettings;
  readonly network: NetworkSettings;
}

/** Known without a deployment: rights and rules name the documents too. */
export function documentName(stage: string, kind: 'run' | 'wait'): string {
  return `examhall-${stage}-${kind}`;
}

/** What functions are told about sandboxes. */
export function sandboxSettingsOf({ stage, tags, sandboxes }: ToldSettings, places: SandboxPlaces): SandboxSettings {
  const images = Object.entries(sandboxes.images).map(([family, image]) => {
    const { os, kind, rootDevice, volumeGiB, revision, seats, gpu } = image;
    const imageId = places.imageIds.get(family);
    if (imageId === undefined) throw new Error(`no image was found for ${family}`);
    const driver = gpu === undefined ? {} : { gpu };
    return [family, { imageId, os, revision, kind, rootDevice, volumeGiB, seats, ...driver }] as const;
  });
  return {
    stage,
    tags,
    networks: Object.fromEntries(places.networks),
    images: Object.fromEntries(images),
    machineTypes: sandboxes.machineTypes,
    volumeKeyArn: places.volumeKeyArn,
    documents: { run: documentName(stage, 'run'), wait: documentName(stage, 'wait') },
  };
}

/** As long as AWS makes them. */
const LONGEST = {
  subnet: { id: 'subnet-0123456789abcdef0', zone: 'ap-southeast-1-xxx-1a' },
  template: { id: 'lt-0123456789abcdef0', version: '100000' },
  imageId: 'ami-0123456789abcdef0',
  volumeKeyArn: `arn:aws-us-gov:kms:ap-southeast-1:111122223333:key/${'x'.repeat(36)}`,
};

/** Bytes that the variable takes at most: whole, and for functions that launch nothing. */
export function sandboxVariableBytes(settings: ToldSettings): {
  readonly whole: number;
  readonly withoutNetworks: number;
} {
  const { vpc, profiles } = settings.network;
  const subnetsOf = (profile: NetworkProfile): number =>
    vpc.kind === 'own' ? vpc.zones : (vpc[profile]?.subnets.length ?? 0);
  const network = (profile: NetworkProfile): Network => ({
    subnets: Array.from({ length: subnetsOf(profile) }, () => LONGEST.subnet),
    template: LONGEST.template,
  });
  const bytes = (networks: SandboxPlaces['networks']): number => {
    const imageIds = new Map(Object.keys(settings.sandboxes.images).map((family) => [family, LONGEST.imageId]));
    const places = { networks, imageIds, volumeKeyArn: LONGEST.volumeKeyArn };
    return new TextEncoder().encode(JSON.stringify(sandboxSettingsOf(settings, places))).byteLength;
  };
  return {
    whole: bytes(new Map(profiles.map((profile) => [profile, network(profile)]))),
    withoutNetworks: bytes(new Map()),
  };
}
