import * as z from 'zod';
import { CostEntrySchema } from './cost-facts.ts';

/** What a closed attempt cost, and all that costs are grouped by. Written once, in the transaction that closes it. */
export const UsageRowSchema = z.strictObject({
  attemptId: z.string(),
  unitId: z.string(),
  sweepId: z.string(),
  agentId: z.string(),
  model: z.string().nullable(),
  taskPath: z.string(),
  owner: z.string(),
  costCenter: z.string(),
  /** Whose fault or doing the end was, as the verdict at the close has it. */
  blame: z.string(),
  provider: z.string(),
  machineType: z.string().nullable(),
  closedAt: z.string(),
  /** Region and date of the price sheet; null where there was none. */
  priceSheet: z.string().nullable(),
  cost: z.array(CostEntrySchema),
});
export type UsageRow = z.infer<typeof UsageRowSchema>;

const DAY_MS = 24 * 3600 * 1000;

/** The UTC day of a time, `YYYY-MM-DD`. */
export function usageDay(iso: string): string {
  return new Date(iso).toISOString().slice(0, 10);
}

/** Every day from one to the other, both included, in order; none when they are the wrong way round. */
export function daysBetween(from: string, to: string): readonly string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) days.push(usageDay(new Date(at).toISOString()));
  return days;
}
