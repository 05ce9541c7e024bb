import {
  ADOPTION_EXPIRY_TAG,
  ADOPTION_PHASES,
  ADOPTION_TAG,
  adoptedRevision,
  adoptionEnd,
  adoptionProblems,
  imageName,
  imageTags,
  machineTags,
  settingsEntry,
  type AdoptionPhase,
  type AdoptionWish,
  type SourceImage,
} from '#core/image-adoption';
import {
  adoptionUserData,
  deriveScript,
  readScan,
  scanScript,
  sealScript,
  wipeScript,
  type AdoptedOs,
  type Archive,
} from '#core/image-adoption-scripts';
import type { SandboxSettings } from '#core/sandbox-settings';
import { commandLineError } from '#cli/remote/command-line-error';
import { plainText } from '#cli/remote/plain-text';
import { RemoteError } from '#cli/remote/remote-error';
import type { AdoptionCloud, AdoptionMachine } from './adoption-cloud.ts';
import type { MachineShell } from './machine-shell.ts';

export interface Adoption extends AdoptionWish {
  /** Eight hexadecimal digits. */
  readonly adoptionId: string;
  readonly region: string;
  readonly settings: SandboxSettings;
  /** Published for the derivation only, once the scan has let the image pass. */
  readonly archive: () => Promise<Archive>;
}

export interface AdoptionTools {
  readonly cloud: AdoptionCloud;
  readonly shell: MachineShell;
  readonly tell: (line: string) => void;
  readonly nowIso: () => string;
  /** Nothing more is begun after it; what was begun is cleaned up. */
  readonly signal: AbortSignal;
}

/** What came of it. `refused` names what the image holds; nothing was made of it. */
export type Adopted =
  | { readonly state: 'refused'; readonly found: readonly string[]; readonly unseen: readonly string[] }
  | {
      readonly state: 'adopted';
      readonly imageId: string;
      readonly revision: string;
      readonly removed: readonly string[];
      /** By family: the entry of `sandboxes.images`. */
      readonly settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };

const ONLINE_SECONDS = 900;
const SCAN_SECONDS = 2400;
const DERIVE_SECONDS = 5400;
const SEAL_SECONDS = 300;
/** Longer than any adoption takes. */
const LEFTOVER_HOURS = 24;

/**
 * Scans an image on a machine without a route out, and derives ours from it. Its machines are ended whatever happens, and
 * what adoptions left that were killed is removed. @throws ConfigError for an image that cannot be adopted, RemoteError.
 */
export async function adoptImage(adoption: Adoption, tools: AdoptionTools): Promise<Adopted> {
  await endLeftovers(tools);
  const image = await tools.cloud.describeImage(adoption.imageId);
  const problems = adoptionProblems(image, adoption);
  if (problems.length > 0) {
    throw commandLineError({
      what: 'the image cannot be adopted',
      got: problems.join('; '),
      allowed: 'an available x86_64 image on EBS, for a family of its system',
      action: 'name another image, or another family by --family',
    });
  }
  const os: AdoptedOs = image.isWindows ? 'windows' : 'linux';
  const scanned = await withMachine('scan', { image, adoption, tools }, async (instanceId) => {
    return await scanAndWipe(instanceId, { image, os, adoption, tools });
  });
  if (scanned.state === 'refused') return scanned;
  const base = scanned.cleaned === null ? image : { ...image, imageId: scanned.cleaned };
  try {
    return await derive({ image, base, os, adoption, tools, removed: scanned.removed });
  } finally {
    if (scanned.cleaned !== null) await tools.cloud.removeImage(scanned.cleaned);
  }
}

interface Scanning {
  readonly image: SourceImage;
  readonly os: AdoptedOs;
  readonly adoption: Adoption;
  readonly tools: AdoptionTools;
}

type Scanned =
  | Extract<Adopted, { state: 'refused' }>
  /** `cleaned`: an image of the machine after what it held was wiped; null when it held nothing. */
  | { readonly state: 'passed'; readonly cleaned: string | null; readonly removed: readonly string[] };

async function scanAndWipe(instanceId: string, { image, os, adoption, tools }: Scanning): Promise<Scanned> {
  const first = await scan(instanceId, os, tools);
  const { found, unseen } = first;
  if (unseen.length > 0 || (found.length > 0 && !adoption.removeReferences)) return { state: 'refused', found, unseen };
  if (found.length === 0) return { state: 'passed', cleaned: null, removed: [] };
  tools.tell(`wiping ${String(found.length)} places of reference material`);
  const wiped = await runStep(
    'the wipe',
    instanceId,
    { os, text: wipeScript(os), timeoutSeconds: SCAN_SECONDS },
    tools,
  );
  if (!wiped.includes('DONE')) throw new RemoteError('host', 'the wipe did not come to its end; nothing was made');
  const second = await scan(instanceId, os, tools);
  if (second.found.length > 0) return { state: 'refused', found: second.found, unseen: second.unseen };
  tools.tell('making an image of the wiped machine');
  const cleaned = await tools.cloud.createImage({
    instanceId,
    name: `examhall-wiped-${adoption.adoptionId}`,
    tags: { [ADOPTION_TAG]: adoption.adoptionId, 'examhall:source-image': image.imageId },
  });
  return { state: 'passed', cleaned, removed: found };
}

async function scan(instanceId: string, os: AdoptedOs, tools: AdoptionTools): Promise<ReturnType<typeof readScan>> {
  tools.tell('looking for reference material on every volume');
  const script = { os, text: scanScript(os), timeoutSeconds: SCAN_SECONDS };
  const seen = readScan(await runStep('the scan', instanceId, script, tools));
  if (seen.isDone) return seen;
  throw new RemoteError(
    'host',
    'the scan did not come to its end; an image that was not looked through is not adopted',
  );
}

async function derive({
  image,
  base,
  os,
  adoption,
  tools,
  removed,
}: Scanning & { readonly base: SourceImage; readonly removed: readonly string[] }): Promise<Adopted> {
  const archive = await adoption.archive();
  const revision = adoptedRevision(image.imageId, archive.sha256);
  const { family, adoptionId, settings } = adoption;
  const imageId = await withMachine('derive', { image: base, adoption, tools }, async (instanceId) => {
    tools.tell('installing runner, desktop and agent account');
    const script = { os, text: deriveScript(os, archive), timeoutSeconds: DERIVE_SECONDS };
    const said = await runStep('the derivation', instanceId, script, tools);
    tools.tell(`verified on the machine: ${plainText(said.trim(), 1000)}`);
    const after = await scan(instanceId, os, tools);
    if (after.found.length + after.unseen.length > 0)
      throw new RemoteError('host', `after the derivation there is ${[...after.found, ...after.unseen].join(', ')}`);
    await runStep('the seal', instanceId, { os, text: sealScript(os), timeoutSeconds: SEAL_SECONDS }, tools);
    tools.tell('making the image');
    return await tools.cloud.createImage({
      instanceId,
      name: imageName(family, revision, adoptionId),
      tags: imageTags(image, { family, revision, tags: settings.tags }),
    });
  });
  return {
    state: 'adopted',
    imageId,
    revision,
    removed,
    settings: settingsEntry(image, { imageId, family, revision }),
  };
}

interface Around {
  readonly image: SourceImage;
  readonly adoption: Adoption;
  readonly tools: AdoptionTools;
}

/** Launches a machine, works on it and ends it, whatever came of the work. */
async function withMachine<T>(
  phase: AdoptionPhase,
  { image, adoption, tools }: Around,
  work: (instanceId: string) => Promise<T>,
): Promise<T> {
  tools.signal.throwIfAborted();
  const { adoptionId, region, settings } = adoption;
  const { network, minutes } = ADOPTION_PHASES[phase];
  const place = settings.networks[network];
  const subnet = place?.subnets[0];
  if (place === undefined || subnet === undefined) {
    throw commandLineError({
      what: `the ${phase} machine needs the network profile ${network}, which the stage does not have`,
      got: Object.keys(settings.networks).join(', ') || 'none',
      allowed: 'a stage whose settings name the profiles open and sealed',
      action: 'add it to network.profiles of the settings and deploy',
    });
  }
  const nowIso = tools.nowIso();
  const end = { minutes, endsAt: adoptionEnd(phase, nowIso), region };
  const instanceId = await launched(tools, {
    image,
    subnetId: subnet.id,
    template: place.template,
    volumeKeyArn: settings.volumeKeyArn,
    tags: machineTags({ adoptionId, phase, nowIso, tags: settings.tags }),
    userData: adoptionUserData(image.isWindows ? 'windows' : 'linux', end),
    clientToken: `examhall-${adoptionId}-${phase}`,
  });
  tools.tell(`${phase} machine ${instanceId}, in network ${network}`);
  try {
    await tools.shell.waitOnline(instanceId, ONLINE_SECONDS);
    tools.signal.throwIfAborted();
    return await work(instanceId);
  } finally {
    await endMachine(instanceId, tools);
  }
}

/** A launch that failed may have been one whose answer was lost. */
async function launched(tools: AdoptionTools, machine: AdoptionMachine): Promise<string> {
  try {
    return await tools.cloud.launch(machine);
  } catch (error) {
    for (const instanceId of await tools.cloud.machinesLaunchedBy(machine.clientToken).catch(() => []))
      await endMachine(instanceId, tools);
    throw error;
  }
}

async function endMachine(instanceId: string, { cloud, tell }: AdoptionTools): Promise<void> {
  const isGone = await cloud.terminate(instanceId).catch(() => false);
  const still = `machine ${instanceId} was not seen terminated; end it: aws ec2 terminate-instances --instance-ids ${instanceId}`;
  tell(isGone ? `machine ${instanceId} is gone` : still);
}

/** What adoptions left behind that were killed, once their time is over. */
async function endLeftovers(tools: AdoptionTools): Promise<void> {
  for (const { instanceId, tags } of await tools.cloud.machinesTagged(ADOPTION_TAG)) {
    const endsAt = Date.parse(tags[ADOPTION_EXPIRY_TAG] ?? '');
    if (Date.parse(tools.nowIso()) >= endsAt) await endMachine(instanceId, tools);
  }
  const before = new Date(Date.parse(tools.nowIso()) - LEFTOVER_HOURS * 3_600_000).toISOString();
  try {
    for (const id of await tools.cloud.removeImagesTagged(ADOPTION_TAG, before))
      tools.tell(`${id} was left and is gone`);
  } catch (error) {
    const why = plainText(error instanceof Error ? error.message : String(error), 500);
    tools.tell(`what killed adoptions left of images was not removed: ${why}`);
  }
}

async function runStep(
  what: string,
  instanceId: string,
  script: Parameters<MachineShell['run']>[1],
  { shell, signal }: AdoptionTools,
): Promise<string> {
  signal.throwIfAborted();
  const { exitCode, stdout, stderr } = await shell.run(instanceId, script);
  if (exitCode === 0) return stdout;
  const said = plainText(`${stderr} ${stdout.slice(-500)}`.trim(), 1500);
  throw new RemoteError('host', `${what} on ${instanceId} ended with exit code ${String(exitCode)}: ${said}`);
}
