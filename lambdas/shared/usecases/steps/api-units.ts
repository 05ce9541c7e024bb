import { ApiRefusal } from '#core/api-refusal';
import { rowKeys, rowPrefixes } from '#core/keys';
import { encodeCursor } from '#core/page-cursor';
import { UnitRowSchema, type UnitRow } from '#core/rows';
import { readBody } from '#core/stored-rows';
import type { UnitSummary } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { lastKeyIn, storeCursor, type Page, type PageAsked } from './api-pages.ts';
import { knownSweep } from './api-sweeps.ts';
import { findRow } from './rows.ts';

type Needs = Pick<Ports, 'unitStore'>;

export interface UnitFilter {
  readonly class?: UnitRow['class'] | undefined;
  readonly agentId?: string | undefined;
  readonly taskPath?: string | undefined;
}

const ROWS_AT_ONCE = 500;
/** Reads for one page: a filter that fits little gives short pages, never slow ones. */
const MOST_READS = 4;

/**
 * A page of a sweep's units in the order of their ids. A page may hold fewer than asked for, even none, and still have a
 * cursor. @throws ApiRefusal NotFoundError; InvalidRequestError for a cursor of another query.
 */
export async function pageOfUnits(
  sweepId: string,
  { cursor, limit, ...filter }: UnitFilter & PageAsked,
  { unitStore }: Needs,
): Promise<Page<UnitSummary>> {
  const { value: sweep } = await knownSweep(unitStore, sweepId);
  const bound = ['units', sweepId, filter.class ?? null, filter.agentId ?? null, filter.taskPath ?? null];
  const { pk } = rowKeys.sweep(sweepId);
  let last = lastKeyIn(bound, cursor);
  const items: UnitSummary[] = [];
  for (let reads = 0; reads < MOST_READS; reads += 1) {
    const behind = last === null ? {} : { cursor: storeCursor({ pk, prefix: rowPrefixes.unit }, last) };
    const { rows, cursor: next } = await unitStore.query({
      pk,
      skPrefix: rowPrefixes.unit,
      limit: ROWS_AT_ONCE,
      ...behind,
    });
    for (const row of rows) {
      last = row.sk;
      const unit = readBody(UnitRowSchema, row);
      if (unit.run !== sweep.run || !passes(unit, filter)) continue;
      items.push(unitSummary(unit));
      if (items.length === limit) return { items, cursor: encodeCursor(bound, last) };
    }
    if (next === undefined) return { items, cursor: null };
  }
  return { items, cursor: last === null ? null : encodeCursor(bound, last) };
}

function passes(unit: UnitRow, filter: UnitFilter): boolean {
  return (
    (filter.class === undefined || unit.class === filter.class) &&
    (filter.agentId === undefined || unit.agentId === filter.agentId) &&
    (filter.taskPath === undefined || unit.taskPath === filter.taskPath)
  );
}

export function unitSummary(unit: UnitRow): UnitSummary {
  const { unitId, sweepId, agentId, model, taskPath, variant, trial, notRunReason, status, score, attempts } = unit;
  const named = { unitId, sweepId, agentId, model, taskPath, variant, trial };
  return { ...named, class: unit.class, notRunReason, status, score, attempts, closedAt: unit.closedAt };
}

const MOST_NAMES = 64;

/** The unit of an id, whose beginning is its sweep's. @throws ApiRefusal NotFoundError. */
export async function knownUnit({ unitStore }: Needs, unitId: string): Promise<UnitRow> {
  for (const sweepId of sweepIdsIn(unitId)) {
    const found = await findRow(unitStore, rowKeys.unit(sweepId, unitId), UnitRowSchema);
    if (found !== undefined) return found.value;
  }
  throw new ApiRefusal(
    'NotFoundError',
    `there is no unit ${unitId}; GET /sweeps/{sweepId}/units lists those of a sweep`,
  );
}

/** `__` ends a sweep's id in that of a unit, and may stand in it too. */
function sweepIdsIn(unitId: string): readonly string[] {
  const ids: string[] = [];
  for (let at = unitId.indexOf('__', 1); at > 0 && at <= MOST_NAMES; at = unitId.indexOf('__', at + 1)) {
    ids.push(unitId.slice(0, at));
  }
  return ids;
}
