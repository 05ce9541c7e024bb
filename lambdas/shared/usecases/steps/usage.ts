import { CostGrouper, type CostQuestion, type GroupedCosts } from '#core/cost-groups';
import { rowKeys } from '#core/keys';
import { daysBetween, UsageRowSchema } from '#core/usage-row';
import type { UnitStore } from '#ports/unit-store';
import { allRows, readBody } from './rows.ts';

/** Costs of the attempts that were closed on these days, both included, of one sweep or of all. */
export async function readCosts(
  store: UnitStore,
  { sweepId, ...question }: CostQuestion & { readonly sweepId?: string | undefined },
): Promise<GroupedCosts> {
  const grouper = new CostGrouper(question);
  for (const day of daysBetween(question.from, question.to)) {
    for await (const row of allRows(store, { pk: rowKeys.usage(day, '').pk })) {
      const usage = readBody(UsageRowSchema, row);
      if (sweepId === undefined || usage.sweepId === sweepId) grouper.add(usage);
    }
  }
  return grouper.result();
}
