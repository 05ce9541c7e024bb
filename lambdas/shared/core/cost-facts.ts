import * as z from 'zod';
import { COST_PARTS, type CostEntry } from './record.ts';

/** What of a sandbox somebody sends a bill for, as its provider knows it once it is launched. */
export const BilledMachineSchema = z.strictObject({
  /** The provider's own name of the size, as price sheets have it. */
  machineType: z.string().min(1),
  os: z.enum(['linux', 'windows']),
  isSpot: z.boolean(),
  /** All volumes together. */
  volumeGiB: z.number().nonnegative(),
  hasPublicAddress: z.boolean(),
});
export type BilledMachine = z.infer<typeof BilledMachineSchema>;

/** What an agent says of the model calls it made; nobody else counted them. */
export const TokenUsageSchema = z.strictObject({
  promptTokens: z.number().nonnegative(),
  completionTokens: z.number().nonnegative(),
  /** Null when it says nothing of money. */
  usd: z.number().nonnegative().nullable(),
});
export type TokenUsage = z.infer<typeof TokenUsageSchema>;

/** What was measured of one attempt, and what follows from it by counting. */
export interface CostFacts {
  readonly provider: string;
  /** Null without a sandbox, and where the provider does not say. */
  readonly machine: BilledMachine | null;
  /** How long the machine existed; 0 when none was launched, null while it is still there or nobody saw it go. */
  readonly machineSeconds: number | null;
  /** Bytes that left the region; null when nobody measured them. */
  readonly transferOutBytes: number | null;
  readonly model: string | null;
  readonly tokens: TokenUsage | null;
  /** What the pipeline did for it; null on a host that nobody bills. */
  readonly controlPlane: ControlPlaneCounts | null;
  /** Requests sealed for its guest, whose objects are put and got besides; 0 for a guest that is asked otherwise. */
  readonly sealedRequests: number;
}

/** Billable actions of the pipeline itself. */
export interface ControlPlaneCounts {
  readonly transitions: number;
  readonly invocations: number;
  readonly gibSeconds: number;
  readonly tableWriteUnits: number;
  readonly tableReadUnits: number;
  readonly objectPuts: number;
  readonly objectGets: number;
  readonly events: number;
  readonly scheduledInvocations: number;
}

/** One part of a cost as it is stored; `usd` is null exactly when it is unknown. */
export const CostEntrySchema = z.discriminatedUnion('basis', [
  z.strictObject({
    part: z.enum(COST_PARTS),
    basis: z.enum(['observed', 'estimated']),
    usd: z.number().nonnegative(),
    note: z.string().nullable(),
  }),
  z.strictObject({
    part: z.enum(COST_PARTS),
    basis: z.literal('unknown'),
    usd: z.null(),
    note: z.string().nullable(),
  }),
]) satisfies z.ZodType<CostEntry>;
