import * as z from 'zod';
import { TaskIdSchema } from './catalog.ts';

const StepSchema = z.strictObject({
  /** One line for the sandbox's shell, run in the task's folder. */
  run: z.string().min(1),
  /** What a reader should know about the step. */
  note: z.string().optional(),
});

const StepsSchema = z.array(StepSchema).min(1);

/** Shell calls that the scripted agent replays for one task; `variants` go before `steps`. */
export const RecordingSchema = z
  .strictObject({
    version: z.literal(1),
    task: TaskIdSchema,
    steps: StepsSchema.optional(),
    variants: z.record(z.string(), z.strictObject({ steps: StepsSchema })).optional(),
  })
  .refine(({ steps, variants }) => steps !== undefined || variants !== undefined, {
    error: 'needs steps, or variants with steps of their own',
  });

export type Recording = z.infer<typeof RecordingSchema>;

/** Name of a task's recording in an agent's folder. */
export function recordingFileName(taskId: string): string {
  return `${taskId.replace('/', '__')}.json`;
}
