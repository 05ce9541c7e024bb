import * as z from 'zod';

const Size = z.number().nonnegative();

/** One line of a run folder's `gui_events.jsonl`. */
export const GuiEventLineSchema = z.strictObject({
  seq: z.int().positive(),
  reportedBy: z.literal('agent'),
  timeIsPlausible: z.boolean(),
  at: z.iso.datetime(),
  tool: z.string().min(1),
  arguments: z.record(z.string(), z.unknown()),
  pixels: z.array(z.object({ x: z.number(), y: z.number() })).exactOptional(),
  screen: z.object({ width: Size, height: Size }).exactOptional(),
  durationMs: Size,
  ok: z.boolean(),
  error: z.string().exactOptional(),
});
