import { PICTURE_HEAD_BYTES, pictureKindOf, type PictureKind } from '#core/picture-kind';
import { SCREENSHOT_LIMITS, type CollectedPicture, type Screenshot } from '#core/trajectory-images';
import { referredPictures } from '#core/trajectory-pictures';
import type { TrajectoryDraft } from '#core/trajectory-types';
import type { CollectManifest } from '#contracts/guest';
import type { Ports } from '#ports/ports';
import { collectedFiles } from './collected-files.ts';

/**
 * The collected files that a draft shows, by the names it calls them. What was not collected (links, devices, files beyond
 * the limits) is not there, nor is anything outside the work folder.
 */
export async function collectedPictures(
  ports: Pick<Ports, 'artifacts'>,
  draft: TrajectoryDraft,
  manifest: CollectManifest,
): Promise<ReadonlyMap<string, CollectedPicture>> {
  const files = collectedFiles(manifest, 'origin_log/');
  const keys = new Map(files.map(({ name, key }) => [name, key]));
  // The agent knows its files by their own names, which the run folder may have escaped.
  for (const { path, key } of files) if (!keys.has(path)) keys.set(path, key);
  const pictures = new Map<string, CollectedPicture>();
  for (const name of referredPictures(draft)) {
    const key = keys.get(name);
    const picture = key === undefined ? null : await pictureAt(ports, key);
    if (picture !== null) pictures.set(name, picture);
  }
  return pictures;
}

async function pictureAt(ports: Pick<Ports, 'artifacts'>, key: string): Promise<CollectedPicture | null> {
  const ref = { bucket: 'artifacts', key } as const;
  const info = await ports.artifacts.head(ref);
  if (info === undefined) return null;
  const { sizeBytes } = info;
  const kind: PictureKind | null =
    sizeBytes === 0
      ? null
      : pictureKindOf(await ports.artifacts.get(ref, { start: 0, end: Math.min(PICTURE_HEAD_BYTES, sizeBytes) - 1 }));
  return { key, sizeBytes, kind };
}

/** Puts the pictures of a trajectory into the run folder. */
export async function writeScreenshots(
  ports: Pick<Ports, 'runTree'>,
  runDir: string,
  screenshots: readonly Screenshot[],
): Promise<void> {
  for (const shot of screenshots) {
    if ('bytes' in shot) await ports.runTree.write(runDir, shot.path, shot.bytes);
    else await ports.runTree.copyObject(runDir, shot.path, shot.key);
  }
}

/** The bytes of a picture that was kept; null for one that is too large to be looked at. */
export async function bytesOf(ports: Pick<Ports, 'artifacts'>, shot: Screenshot): Promise<Uint8Array | null> {
  if ('bytes' in shot) return shot.bytes;
  const ref = { bucket: 'artifacts', key: shot.key } as const;
  const info = await ports.artifacts.head(ref);
  if (info === undefined || info.sizeBytes > SCREENSHOT_LIMITS.eachBytes) return null;
  return await ports.artifacts.get(ref);
}
