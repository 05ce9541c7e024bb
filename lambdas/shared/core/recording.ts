import * as z from 'zod';
import { TaskIdSchema } from './catalog.ts';

const NoteSchema = z.string().optional();

/** A word by which a later step names what this one found. */
const NameSchema = z.string().regex(/^[a-z][A-Za-z0-9]*$/u, 'must be a word of letters and digits');

const ColorSchema = z.string().regex(/^#[0-9a-f]{6}$/u, 'must be a colour, #rrggbb');

const RectangleSchema = z.strictObject({
  x: z.int().nonnegative(),
  y: z.int().nonnegative(),
  width: z.int().positive(),
  height: z.int().positive(),
});

/** A thing on the screen, known by its colour and size; `nth` is its place among those alike, from the top, from 0. */
const PlaceSchema = z.strictObject({
  color: ColorSchema,
  tolerance: z.int().min(0).max(255).optional(),
  minWidth: z.int().positive().optional(),
  minHeight: z.int().positive().optional(),
  within: RectangleSchema.optional(),
  nth: z.int().nonnegative().optional(),
});

const ShellStepSchema = z.strictObject({
  /** One line for the sandbox's shell, run in the task's folder. */
  run: z.string().min(1),
  /** What a reader should know about the step. */
  note: NoteSchema,
});

const WaitStepSchema = z.strictObject({
  waitFor: PlaceSchema,
  timeoutSeconds: z.number().positive().optional(),
  note: NoteSchema,
});
const ClickStepSchema = z.strictObject({
  click: PlaceSchema,
  clicks: z.literal([1, 2, 3]).optional(),
  note: NoteSchema,
});
const TypeStepSchema = z.strictObject({ type: z.string().min(1), note: NoteSchema });
const KeyStepSchema = z.strictObject({ key: z.array(z.string().min(1)).min(1), note: NoteSchema });

const ReadTextStepSchema = z.strictObject({
  readText: z.strictObject({
    place: PlaceSchema,
    ink: ColorSchema,
    /** Pixels of one dot. */
    dot: z.int().positive(),
    /** Name of a font of the recording. */
    font: z.string(),
    /** Characters that have to be there before the text counts as read. */
    length: z.int().positive(),
  }),
  as: NameSchema,
  note: NoteSchema,
});

const ReadShapesStepSchema = z.strictObject({
  readShapes: z.strictObject({
    /** Within which everything is looked for. */
    place: PlaceSchema,
    colors: z.record(z.string(), ColorSchema),
    /** How much of each of its bands, from the top, a shape covers; the nearest counts. */
    shapes: z.record(z.string(), z.array(z.number().min(0).max(1)).min(2)),
    minWidth: z.int().positive(),
    minHeight: z.int().positive(),
  }),
  as: NameSchema,
  note: NoteSchema,
});

/** How many of the shapes read have the colour or the shape of that name. */
const CountStepSchema = z.strictObject({
  count: z.strictObject({ of: NameSchema, is: z.string() }),
  as: NameSchema,
  note: NoteSchema,
});

/** Colour and shape of what stands next to the one shape of a colour. */
const BesideStepSchema = z.strictObject({
  beside: z.strictObject({ of: NameSchema, color: z.string(), side: z.enum(['left', 'right', 'above', 'below']) }),
  as: NameSchema,
  note: NoteSchema,
});

/** Writes a file of the output folder; `{{name}}` is what a step before found. */
const WriteStepSchema = z.strictObject({ write: z.string().min(1), text: z.string(), note: NoteSchema });

const StepSchema = z.union([
  ShellStepSchema,
  WaitStepSchema,
  ClickStepSchema,
  TypeStepSchema,
  KeyStepSchema,
  ReadTextStepSchema,
  ReadShapesStepSchema,
  CountStepSchema,
  BesideStepSchema,
  WriteStepSchema,
]);

const StepsSchema = z.array(StepSchema).min(1);

/**
 * What the scripted agent replays for one task: shell calls, and steps on the screen that find everything by its pixels.
 * `variants` go before `steps`.
 */
export const RecordingSchema = z
  .strictObject({
    version: z.literal(1),
    task: TaskIdSchema,
    /** Characters as rows of dots, `#` where there is ink. */
    fonts: z.record(z.string(), z.record(z.string().length(1), z.array(z.string()).min(1))).optional(),
    steps: StepsSchema.optional(),
    variants: z.record(z.string(), z.strictObject({ steps: StepsSchema })).optional(),
  })
  .refine(({ steps, variants }) => steps !== undefined || variants !== undefined, {
    error: 'needs steps, or variants with steps of their own',
  });

export type Recording = z.infer<typeof RecordingSchema>;
export type RecordingStep = z.infer<typeof StepSchema>;
export type RecordingPlace = z.infer<typeof PlaceSchema>;

/** Name of a task's recording in an agent's folder. */
export function recordingFileName(taskId: string): string {
  return `${taskId.replace('/', '__')}.json`;
}
