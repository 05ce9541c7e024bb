import * as z from 'zod';
import { BilledMachineSchema, CostEntrySchema, TokenUsageSchema } from '#core/cost-facts';

const Count = z.number().nonnegative();

/** `cost.json`, format version 1: the amounts of one attempt's cost parts, and what they were made from. */
export const CostFileSchema = z.strictObject({
  formatVersion: z.literal(1),
  attemptId: z.string().min(1),
  currency: z.literal('USD'),
  /** `<region> <date>`; null where no sheet holds. */
  priceSheet: z.string().nullable(),
  parts: z.array(CostEntrySchema),
  facts: z.strictObject({
    provider: z.string().min(1),
    machine: BilledMachineSchema.nullable(),
    machineSeconds: z.number().nullable(),
    transferOutBytes: Count.nullable(),
    model: z.string().nullable(),
    tokens: TokenUsageSchema.nullable(),
    controlPlane: z
      .strictObject({
        transitions: Count,
        invocations: Count,
        gibSeconds: Count,
        tableWriteUnits: Count,
        tableReadUnits: Count,
        objectPuts: Count,
        objectGets: Count,
        events: Count,
        scheduledInvocations: Count,
      })
      .nullable(),
    /** Files from before it was counted have none. */
    sealedRequests: Count.exactOptional(),
  }),
});
export type CostFile = z.infer<typeof CostFileSchema>;
