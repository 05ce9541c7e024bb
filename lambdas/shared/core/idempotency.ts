import * as z from 'zod';

/** What an idempotency key has started. */
export const IdempotencyRowSchema = z.strictObject({
  /** Over the canonical JSON of the body. */
  bodySha256: z.string(),
  sweepId: z.string(),
  createdAt: z.iso.datetime(),
  /** What the answer said besides. */
  warnings: z.array(z.string()),
  largestCostUsd: z.number().nullable(),
});
export type IdempotencyRow = z.infer<typeof IdempotencyRowSchema>;
