import { ApiRefusal } from '#core/api-refusal';
import { CostGrouper, type CostQuestion, type GroupedCosts } from '#core/cost-groups';
import { rowKeys } from '#core/keys';
import { daysBetween, UsageRowSchema } from '#core/usage-row';
import { readBody } from '#core/stored-rows';
import type { UnitStore } from '#ports/unit-store';
import { allRows } from './rows.ts';

/**
 * Costs of the attempts that were closed on these days, both included, of one sweep or of all.
 * @throws ApiRefusal RequestRefusedError when more attempts than `mostRows` were closed on them.
 */
export async function readCosts(
  store: UnitStore,
  { sweepId, ...question }: CostQuestion & { readonly sweepId?: string | undefined },
  mostRows = Infinity,
): Promise<GroupedCosts> {
  const grouper = new CostGrouper(question);
  let rows = 0;
  for (const day of daysBetween(question.from, question.to)) {
    for await (const row of allRows(store, { pk: rowKeys.usage(day, '').pk })) {
      rows += 1;
      if (rows > mostRows) throw tooMany(question, day, mostRows);
      const usage = readBody(UsageRowSchema, row);
      if (sweepId === undefined || usage.sweepId === sweepId) grouper.add(usage);
    }
  }
  return grouper.result();
}

function tooMany({ from, to }: CostQuestion, day: string, mostRows: number): ApiRefusal {
  const read = `${String(mostRows)} closed attempts were read from ${from} on, and ${day} has more`;
  const message = `${read}; at most ${String(mostRows)} are read for one answer: narrow the days (${from} to ${to} were asked for)`;
  return new ApiRefusal('RequestRefusedError', `query.to: ${message}`, [{ path: 'query.to', message }]);
}
