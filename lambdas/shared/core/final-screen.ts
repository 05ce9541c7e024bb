import * as z from 'zod';
import { decodeBase64 } from './base64.ts';
import { pictureKindOf } from './picture-kind.ts';
import { SCREENSHOT_LIMITS } from './trajectory-images.ts';

/** What was noted of the screen when the agent's phase had ended; `problem` says why there is no picture of it. */
export const FinalScreenSchema = z.strictObject({ takenAt: z.string(), problem: z.string().nullable() });
export type FinalScreen = z.infer<typeof FinalScreenSchema>;

const MOST_CHARACTERS = Math.ceil((SCREENSHOT_LIMITS.eachBytes * 4) / 3);

/** The PNG in a desktop's answer to `screenshot`, or why there is none. The answer is the agent's to forge. */
export function pngInAnswer(answer: Readonly<Record<string, unknown>> | undefined): Uint8Array | string {
  if (answer === undefined) return 'the desktop gave no answer';
  const { success, error, image_data: data } = answer;
  if (success !== true) return `the desktop answered: ${shown(error)}`;
  if (typeof data !== 'string') return 'the answer has no image_data';
  if (data.length > MOST_CHARACTERS) return `the picture has ${String(data.length)} characters, too many to keep`;
  const bytes = decodeBase64(data);
  return bytes !== null && pictureKindOf(bytes) === 'png' ? bytes : 'the answer is no PNG';
}

function shown(error: unknown): string {
  return (typeof error === 'string' ? error : JSON.stringify(error ?? null)).slice(0, 300);
}
