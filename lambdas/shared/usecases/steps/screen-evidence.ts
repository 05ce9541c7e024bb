import { encodeBase64 } from '#core/base64';
import { GUI_EVENTS_FILE } from '#core/cua/gui-event';
import { chooseFrames, filmBytes, THUMBNAIL_BOX, type ChosenFrame, type Film, type FilmFrame } from '#core/film-strip';
import { GUI_EVENT_LIMITS, readGuiEvents, type GuiEventCounts } from '#core/gui-event';
import { objectKeys } from '#core/keys';
import type { RecordedScreen } from '#core/record';
import type { AttemptRow } from '#core/rows';
import { RUN_FILES } from '#core/run-tree';
import type { Screenshot } from '#core/trajectory-images';
import type { CollectManifest } from '#contracts/guest';
import type { Ports } from '#ports/ports';
import { storedSandbox } from './attempt-stages.ts';
import { collectedFiles } from './collected-files.ts';
import { readFinalScreen } from './final-screenshot.ts';
import { logRunEvent } from './run-events.ts';
import { bytesOf } from './screenshots.ts';
import type { WrittenTrajectory } from './trajectory-file.ts';

type Needs = Pick<Ports, 'artifacts' | 'runTree' | 'clock' | 'thumbnails'>;
type Recorded = AttemptRow & { readonly runDir: string };

export interface ScreenEvidence {
  /** For `record.json`; null when there was neither a desktop nor a picture. */
  readonly recorded: RecordedScreen | null;
  /** For the attempt's row. */
  readonly row: AttemptRow['screen'];
}

/** Puts what was seen of the screen into the run folder, and leaves a few small pictures for the report. */
export async function writeScreenEvidence(
  ports: Needs,
  attempt: Recorded,
  manifest: CollectManifest | null,
  trajectory: WrittenTrajectory | null,
): Promise<ScreenEvidence> {
  const screenshots = trajectory?.screenshots ?? [];
  const guiEvents = manifest === null ? null : await writeGuiEvents(ports, attempt, manifest);
  const hasDesktop = (storedSandbox(attempt)?.desktop ?? null) !== null;
  const final = hasDesktop ? await writeFinal(ports, attempt) : null;
  if (screenshots.length === 0 && guiEvents === null && final === null) return { recorded: null, row: null };
  const hasFinal = final !== null && final.path !== null;
  const count = screenshots.length + (hasFinal ? 1 : 0);
  if (count > 0) await logRunEvent(ports, attempt, 'screenshots_persisted', { count });
  const all = hasFinal ? [...screenshots, finalOf(attempt)] : screenshots;
  const chosen = chooseFrames(trajectory?.shown ?? [], hasFinal ? RUN_FILES.finalScreenshot : null);
  return {
    recorded: { screenshots: screenshots.length, final, guiEvents },
    row: {
      screenshots: screenshots.length,
      hasFinal,
      guiEvents: guiEvents?.kept ?? null,
      filmBytes: await writeFilm(ports, attempt, chosen, all),
    },
  };
}

function finalOf({ attemptId }: AttemptRow): Screenshot {
  return { path: RUN_FILES.finalScreenshot, key: objectKeys.finalScreenshot(attemptId) };
}

async function writeFinal(ports: Needs, attempt: Recorded): Promise<RecordedScreen['final']> {
  const noted = await readFinalScreen(ports, attempt);
  if (noted === null) return null;
  if (noted.problem !== null) return { path: null, ...noted };
  await ports.runTree.copyObject(
    attempt.runDir,
    RUN_FILES.finalScreenshot,
    objectKeys.finalScreenshot(attempt.attemptId),
  );
  return { path: RUN_FILES.finalScreenshot, ...noted };
}

/** Null when the agent's work folder has no such file. */
async function writeGuiEvents(
  ports: Needs,
  attempt: Recorded,
  manifest: CollectManifest,
): Promise<GuiEventCounts | null> {
  const file = collectedFiles(manifest, 'origin_log/').find(({ name }) => name === GUI_EVENTS_FILE);
  if (file === undefined) return null;
  const ref = { bucket: 'artifacts', key: file.key } as const;
  const sizeBytes = (await ports.artifacts.head(ref))?.sizeBytes ?? 0;
  const most = Math.min(sizeBytes, GUI_EVENT_LIMITS.bytes);
  const bytes = most === 0 ? new Uint8Array() : await ports.artifacts.get(ref, { start: 0, end: most - 1 });
  const startedAt = attempt.agentStartedAt ?? attempt.grantedAt;
  const endedAt = attempt.stageEndedAt['run'] ?? ports.clock.now().toISOString();
  const { text, counts } = readGuiEvents(new TextDecoder().decode(bytes), { startedAt, endedAt }, sizeBytes > most);
  await ports.runTree.write(attempt.runDir, RUN_FILES.guiEvents, text);
  await logRunEvent(ports, attempt, 'gui_events_persisted', { ...counts, reported_by: 'agent' });
  return counts;
}

/** Returns the weight of what it left. */
async function writeFilm(
  ports: Needs,
  attempt: Recorded,
  chosen: readonly ChosenFrame[],
  screenshots: readonly Screenshot[],
): Promise<number> {
  if (chosen.length === 0) return 0;
  const frames: FilmFrame[] = [];
  for (const { path, label } of chosen) {
    const shot = screenshots.find((each) => each.path === path);
    frames.push({ path, label, thumbnail: shot === undefined ? null : await thumbnailOf(ports, shot) });
  }
  const film: Film = { frames };
  const ref = { bucket: 'artifacts', key: objectKeys.film(attempt.attemptId) } as const;
  await ports.artifacts.put(ref, JSON.stringify(film), { contentType: 'application/json' });
  return filmBytes(film);
}

async function thumbnailOf(ports: Needs, shot: Screenshot): Promise<FilmFrame['thumbnail']> {
  const bytes = await bytesOf(ports, shot);
  const small = bytes === null ? null : await ports.thumbnails.shrink(bytes, THUMBNAIL_BOX);
  return small === null ? null : { width: small.width, height: small.height, pngBase64: encodeBase64(small.png) };
}
