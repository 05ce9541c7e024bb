import * as z from 'zod';
import { BLAMES } from '#core/errors';
import { isScore, UNGRADED_REASONS } from '#core/grade';

const GradeSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('graded'),
    score: z.number().refine(isScore, 'a score lies in [0,1]'),
    detail: z.record(z.string(), z.unknown()).nullable(),
  }),
  z.strictObject({
    kind: z.literal('ungraded'),
    reason: z.enum(UNGRADED_REASONS),
    blame: z.enum(BLAMES),
    message: z.string(),
  }),
]);

/** `grade-<n>.json` of an attempt: what a grading came to, written once. */
const CommittedGradeSchema = z.strictObject({
  version: z.literal(1),
  gradeId: z.string(),
  mode: z.enum(['light', 'same-sandbox']),
  grade: GradeSchema,
  durationSeconds: z.number().nullable(),
  rawKey: z.string().nullable(),
});
export type CommittedGrade = z.infer<typeof CommittedGradeSchema>;

/** Null for text that is no committed grade. */
export function readCommittedGrade(text: string): CommittedGrade | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = CommittedGradeSchema.safeParse(value);
  return parsed.success ? parsed.data : null;
}
