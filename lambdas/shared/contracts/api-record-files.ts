import * as z from 'zod';

/** The part of a `record.json` that links are made from; records of every version have it. */
export const RecordFilesSchema = z.object({
  files: z.array(z.object({ path: z.string(), sizeBytes: z.int(), sha256: z.string() })),
  cost: z
    .array(z.object({ part: z.string().nullish(), basis: z.string().nullish(), usd: z.number().nullish() }))
    .nullish(),
});
export type RecordFiles = z.infer<typeof RecordFilesSchema>;

/** The part of a `grade-<n>.json` that is told. */
export const CommittedGradeSchema = z.object({
  grade: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('graded'), score: z.number() }),
    z.object({ kind: z.literal('ungraded'), reason: z.string() }),
  ]),
});
export type ToldGrade = z.infer<typeof CommittedGradeSchema>['grade'];
