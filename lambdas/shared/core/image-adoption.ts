import { IMAGE_FAMILY_NAMES, imageFamily } from './image-family.ts';

/** What EC2 says of an image, as far as adoption asks. */
export interface SourceImage {
  readonly imageId: string;
  readonly name: string;
  readonly ownerId: string;
  readonly state: string;
  readonly architecture: string;
  readonly isWindows: boolean;
  readonly rootDeviceType: string;
  readonly rootDevice: string;
  readonly volumes: readonly { readonly device: string; readonly sizeGiB: number }[];
  /** Product codes of the marketplace; they go along with every copy. */
  readonly productCodes: readonly string[];
}

export interface AdoptionWish {
  readonly imageId: string;
  /** Image family that environment files will name. */
  readonly family: string;
  readonly removeReferences: boolean;
}

/** Everything that keeps an image from being adopted, before any machine is started. */
export function adoptionProblems(image: SourceImage, wish: AdoptionWish): readonly string[] {
  const family = imageFamily(wish.family);
  const os = image.isWindows ? 'windows' : 'linux';
  const problems: (string | false)[] = [
    image.state !== 'available' && `${image.imageId} is ${image.state}; it must be available`,
    image.architecture !== 'x86_64' && `${image.imageId} is for ${image.architecture}; runner and desktop need x86_64`,
    image.rootDeviceType !== 'ebs' && `${image.imageId} has no EBS root; it could not be encrypted`,
    image.volumes.length === 0 && `${image.imageId} has no volume`,
    image.productCodes.length > 0 &&
      `${image.imageId} is of the marketplace (${image.productCodes.join(', ')}), whose terms go along with copies; adopt an image without product codes`,
    family === null &&
      `there is no image family ${JSON.stringify(wish.family)}; allowed: ${IMAGE_FAMILY_NAMES.join(', ')}`,
    family !== null && family.os !== os && `family ${family.name} is for ${family.os}, and ${image.imageId} is ${os}`,
  ];
  return problems.filter((problem) => problem !== false);
}

/** The machines of one adoption, in order. The scan has no route but AWS's own endpoints; packages come from the open one. */
export const ADOPTION_PHASES = {
  scan: { network: 'sealed', minutes: 60 },
  derive: { network: 'open', minutes: 120 },
} as const;
export type AdoptionPhase = keyof typeof ADOPTION_PHASES;

export const ADOPTION_TAG = 'examhall:adoption';
export const ADOPTION_EXPIRY_TAG = 'examhall:expires-at';
/** Says that an image was made by us, and for which family; launching asks for it. */
const IMAGE_TAG = 'examhall:image';

/** When a machine of that phase ends, whatever became of its work. */
export function adoptionEnd(phase: AdoptionPhase, nowIso: string): string {
  return new Date(Date.parse(nowIso) + ADOPTION_PHASES[phase].minutes * 60_000).toISOString();
}

interface TagFacts {
  readonly adoptionId: string;
  readonly phase: AdoptionPhase;
  readonly nowIso: string;
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * Tags of an adoption's machine, its volumes and interfaces. None of a stage's sandboxes: the reaper would take it for one
 * that nobody wants.
 */
export function machineTags({ adoptionId, phase, nowIso, tags }: TagFacts): Readonly<Record<string, string>> {
  return {
    ...tags,
    Name: `examhall ${phase} ${adoptionId}`,
    [ADOPTION_TAG]: adoptionId,
    [ADOPTION_EXPIRY_TAG]: adoptionEnd(phase, nowIso),
  };
}

/** Tags of the image that is made, and of its snapshots. */
export function imageTags(
  source: SourceImage,
  made: { readonly family: string; readonly revision: string; readonly tags: Readonly<Record<string, string>> },
): Readonly<Record<string, string>> {
  return {
    ...made.tags,
    [IMAGE_TAG]: made.family,
    'examhall:image-revision': made.revision,
    'examhall:source-image': source.imageId,
    'examhall:source-owner': source.ownerId,
  };
}

/** Of the adopted image: the source and the boot archive that was put over it tell what it holds. */
export function adoptedRevision(sourceImageId: string, archiveSha256: string): string {
  return `adopted-${sourceImageId}-${archiveSha256.slice(0, 12)}`;
}

/** Letters that names of images may have; within EC2's 128. */
export function imageName(family: string, revision: string, adoptionId: string): string {
  return `examhall-${family}-${revision}-${adoptionId}`.replaceAll(/[^A-Za-z0-9()[\] ./\-'@_]/gu, '-').slice(0, 128);
}

/** The entry of a stage's settings that makes the image a family of it. */
export function settingsEntry(
  source: SourceImage,
  made: { readonly imageId: string; readonly family: string; readonly revision: string },
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const root = source.volumes.find(({ device }) => device === source.rootDevice);
  return {
    [made.family]: {
      imageId: made.imageId,
      os: source.isWindows ? 'windows' : 'linux',
      revision: made.revision,
      kind: 'prepared',
      rootDevice: source.rootDevice,
      volumeGiB: root?.sizeGiB ?? source.volumes[0]?.sizeGiB ?? 1,
      seats: null,
    },
  };
}
