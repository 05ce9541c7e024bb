import * as z from 'zod';

const StagedFileSchema = z.strictObject({
  path: z.string().min(1),
  url: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
});
export type StagedFile = z.infer<typeof StagedFileSchema>;

/** What StageGrade hands to a grader that holds no rights: signed URLs in, one signed upload out. */
export const GradeStageSchema = z.strictObject({
  version: z.literal(1),
  module: StagedFileSchema,
  /** First argument of `evaluate`, without readers and session. */
  input: z.record(z.string(), z.unknown()),
  folders: z.strictObject({
    output: z.array(StagedFileSchema),
    reference: z.array(StagedFileSchema),
    input: z.array(StagedFileSchema),
  }),
  upload: z.strictObject({ url: z.string(), fields: z.record(z.string(), z.string()), keyPrefix: z.string() }),
  rawKey: z.string().min(1),
  memoryMiB: z.int().positive(),
});
export type GradeStage = z.infer<typeof GradeStageSchema>;
