import { ledgerOf, resultsOf, type LedgerRow } from '#core/denominators';
import { ApiRefusal } from '#core/api-refusal';
import { countOf } from '#core/grants';
import { objectKeys, rowKeys, rowPrefixes } from '#core/keys';
import type { Permission } from '#core/policy';
import { SweepRowSchema, UnitRowSchema, type SweepRow } from '#core/rows';
import { readBody } from '#core/stored-rows';
import type { SweepDetail, SweepSummary } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { LINK_SECONDS } from './api-links.ts';
import { pageOfPartition, type Page, type PageAsked } from './api-pages.ts';
import { revisionInKey, storedRequest } from './api-stored.ts';
import { allRows, findRow } from './rows.ts';
import { readCounters } from './slots.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts'>;

/** A page of sweeps, newest first: ids of sweeps that were started through the API order by time. */
export async function pageOfSweeps(
  asked: PageAsked,
  permissions: ReadonlySet<Permission>,
  { unitStore }: Needs,
): Promise<Page<SweepSummary>> {
  const newestFirst = { pk: rowKeys.knownSweep('').pk, descending: true };
  return await pageOfPartition(newestFirst, asked, unitStore, async ({ sk }) => {
    const row = await findRow(unitStore, rowKeys.sweep(sk), SweepRowSchema);
    return row === undefined ? null : sweepSummary(row.value, permissions);
  });
}

/** @throws ApiRefusal NotFoundError. */
export async function knownSweep(
  store: Ports['unitStore'],
  sweepId: string,
): Promise<{ readonly value: SweepRow; readonly version: number }> {
  const found = await findRow(store, rowKeys.sweep(sweepId), SweepRowSchema);
  if (found !== undefined) return found;
  throw new ApiRefusal('NotFoundError', `there is no sweep ${sweepId}; GET /sweeps lists those there are`);
}

/** Amounts are for those who may see costs; a budget also for those who set one. */
export function sweepSummary(row: SweepRow, permissions: ReadonlySet<Permission>): SweepSummary {
  const seesCosts = permissions.has('readCosts');
  const { sweepId, name, owner, costCenter, status, paused, cancelled, createdAt, closedAt, deadlineAt } = row;
  return {
    ...{ sweepId, name, owner, costCenter, status, paused, cancelled, createdAt, closedAt, deadlineAt },
    concurrency: row.concurrency,
    plannedUnits: row.status === 'accepted' ? null : row.plannedUnits,
    budgetUsd: seesCosts || permissions.has('control') ? row.budgetUsd : null,
    spentUsd: seesCosts ? row.spentUsd : null,
    error: row.error,
  };
}

/** One sweep with its ledger, counted from the rows of its units. */
export async function sweepDetail(
  sweepId: string,
  permissions: ReadonlySet<Permission>,
  ports: Needs,
): Promise<SweepDetail> {
  const { value: row } = await knownSweep(ports.unitStore, sweepId);
  const request = await storedRequest(ports, row.requestKey);
  const rows = row.status === 'accepted' ? [] : await ledgerRows(row, ports);
  const { counters } = await readCounters(ports.unitStore);
  const planned = rows.map(({ unitId }) => unitId);
  return {
    ...sweepSummary(row, permissions),
    ledger: row.status === 'accepted' ? null : ledgerOf(planned, rows),
    runningUnits: countOf(counters.bySweep, sweepId),
    meanScore: resultsOf(rows).find(({ treatment }) => treatment === 'excluded')?.meanScore ?? null,
    agents: request.agents.map(({ id, agentId, model }) => ({ id, agentId, model })),
    tasks: request.tasks.map(({ path, manifestKey }) => ({ path, revision: revisionInKey(manifestKey) })),
    reportUrl: await reportUrl(row, ports),
  };
}

async function ledgerRows(sweep: SweepRow, { unitStore }: Needs): Promise<readonly LedgerRow[]> {
  const rows: LedgerRow[] = [];
  const query = { pk: rowKeys.sweep(sweep.sweepId).pk, skPrefix: rowPrefixes.unit };
  for await (const stored of allRows(unitStore, query)) {
    const unit = readBody(UnitRowSchema, stored);
    if (unit.run !== sweep.run) continue;
    const { unitId, score, notRunReason } = unit;
    rows.push({ unitId, class: unit.class, score: unit.class === 'scored' ? score : null, notRunReason });
  }
  return rows;
}

async function reportUrl({ sweepId, status }: SweepRow, { artifacts }: Needs): Promise<string | null> {
  if (status !== 'closed') return null;
  const ref = { bucket: 'artifacts', key: objectKeys.report(sweepId) } as const;
  return (await artifacts.head(ref)) === undefined ? null : await artifacts.signGet(ref, LINK_SECONDS);
}
