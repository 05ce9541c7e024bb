import * as z from 'zod';
import type { ShownPicture } from './trajectory-pictures.ts';

/** Most pictures of one unit that a report shows. */
export const FILM_FRAMES = 6;

/** Bytes of pictures in one report; beyond them units show fewer. */
export const FILM_BYTES_PER_REPORT = 6 * 1024 * 1024;

/** Largest side of a small picture, in pixels. */
export const THUMBNAIL_BOX = { width: 240, height: 180 } as const;

const FrameSchema = z.object({
  /** Relative to the run folder. */
  path: z.string(),
  label: z.string(),
  /** Null for a picture that could not be made small: a link alone. */
  thumbnail: z.object({ width: z.int(), height: z.int(), pngBase64: z.string() }).nullable(),
});
export type FilmFrame = z.infer<typeof FrameSchema>;

/** What the record leaves for the report: a few small pictures of one attempt. */
export const FilmSchema = z.object({ frames: z.array(FrameSchema) });
export type Film = z.infer<typeof FilmSchema>;

/** A picture chosen for a film strip. */
export interface ChosenFrame {
  readonly path: string;
  readonly label: string;
}

/** A few pictures spread evenly over the trajectory, its first and its last among them, and the final screen. */
export function chooseFrames(shown: readonly ShownPicture[], finalPath: string | null): readonly ChosenFrame[] {
  const most = FILM_FRAMES - (finalPath === null ? 0 : 1);
  const frames = evenly(shown, most).map(({ path, stepId, tool }) => ({
    path,
    label: `step ${String(stepId)}${tool === null ? '' : `: ${tool.slice(0, 60)}`}`,
  }));
  return finalPath === null ? frames : [...frames, { path: finalPath, label: 'when the agent had ended' }];
}

/** At most `most` items at even distances, the first and the last among them. */
export function evenly<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  const gaps = Math.max(1, most - 1);
  const wanted = Array.from({ length: most }, (_, index) => Math.round((index * (items.length - 1)) / gaps));
  return items.filter((_, index) => wanted.includes(index));
}

/** Weight of a film in a report. */
export function filmBytes({ frames }: { readonly frames: readonly FilmFrame[] }): number {
  return frames.reduce((sum, { thumbnail }) => sum + (thumbnail?.pngBase64.length ?? 0), 0);
}

/** How many pictures of each unit fit a report, given the weights of all films; 1 when not even two of each do. */
export function framesThatFit(weights: readonly number[], most: number = FILM_BYTES_PER_REPORT): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= most) return FILM_FRAMES;
  return Math.max(1, Math.floor((FILM_FRAMES * most) / total));
}
