import { ApiRefusal } from '#core/api-refusal';
import { costsCsv } from '#core/cost-groups';
import type { CostGroup } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import type { ApiReply } from './api-operation.ts';
import { knownSweep } from './api-sweeps.ts';
import { readCosts } from './usage.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock'>;

export interface CostsAsked {
  readonly groupBy: CostGroup;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly sweepId?: string | undefined;
  readonly format: 'json' | 'csv';
}

const DAY_MS = 24 * 3600 * 1000;
const DEFAULT_DAYS = 30;
const MOST_DAYS = 400;
/** So many can be read while a caller waits for one answer. */
const MOST_ROWS = 150_000;

/**
 * Costs of the attempts closed in some days: the last thirty, of one sweep those since it was created, unless told.
 * @throws ApiRefusal InvalidRequestError for days that are none or too many, NotFoundError for a sweep that is not there,
 * RequestRefusedError for too many attempts.
 */
export async function costsReply(
  asked: CostsAsked,
  { unitStore, clock }: Needs,
  mostRows: number = MOST_ROWS,
): Promise<ApiReply> {
  const { groupBy, sweepId } = asked;
  const sweep = sweepId === undefined ? null : (await knownSweep(unitStore, sweepId)).value;
  const days = sweep === null ? daysOf(asked, clock.now()) : daysOfSweep(asked, sweep.createdAt, clock.now());
  const question = { groupBy, ...days, ...(sweepId === undefined ? {} : { sweepId }) };
  const body = await readCosts(unitStore, question, mostRows);
  return { body, ...(asked.format === 'csv' ? { csv: costsCsv(body) } : {}) };
}

function daysOf(asked: Pick<CostsAsked, 'from' | 'to'>, now: Date): { readonly from: string; readonly to: string } {
  const to = asked.to ?? dayOf(now.getTime());
  const from = asked.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days >= 1 && days <= MOST_DAYS) return { from, to };
  const message = `${from} to ${to} are ${String(days)} days; 1 to ${String(MOST_DAYS)} are allowed, from before to`;
  throw new ApiRefusal('InvalidRequestError', `the days cannot be used: ${message}`, [{ path: 'query.from', message }]);
}

/** A sweep so old that its days are too many is asked for the first of them. */
function daysOfSweep(asked: Pick<CostsAsked, 'from' | 'to'>, createdAt: string, now: Date): ReturnType<typeof daysOf> {
  const from = asked.from ?? dayOf(Date.parse(createdAt));
  const last = dayOf(Math.min(now.getTime(), Date.parse(from) + (MOST_DAYS - 1) * DAY_MS));
  return daysOf({ from, to: asked.to ?? last }, now);
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
