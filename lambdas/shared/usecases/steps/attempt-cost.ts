import { costOfAttempt } from '#core/attempt-cost';
import { countsOfStages, sealedRequestsOf } from '#core/control-plane-cost';
import { BilledMachineSchema, type CostFacts, type TokenUsage } from '#core/cost-facts';
import type { PriceSheet } from '#core/price-sheet';
import { totalCost, type CostBasis, type CostEntry } from '#core/record';
import type { AttemptRow, TeardownRow, UnitRow } from '#core/rows';
import { INTENT, isKept } from '#core/teardown';
import type { CostFile } from '#contracts/cost-schema';
import { FUNCTIONS } from '#contracts/functions';
import { priceSheetOf } from '#contracts/price-sheets';
import type { FinalMetrics } from '#core/trajectory';
import type { Ports } from '#ports/ports';
import { storedSandbox } from './attempt-stages.ts';
import { attemptsOf } from './rows.ts';

/** What an attempt cost as far as it is known now, with what that was made from. */
export function measureCost(
  { region }: Pick<Ports, 'region'>,
  attempt: AttemptRow,
  { rows, tokens }: { readonly rows: readonly TeardownRow[]; readonly tokens: TokenUsage | null },
): CostFile {
  const sheet = priceSheetOf(region);
  const sandbox = storedSandbox(attempt);
  const stages = Object.keys(attempt.stageStartedAt);
  const facts: CostFacts = {
    provider: attempt.provider,
    machine: BilledMachineSchema.safeParse(sandbox?.billed).data ?? null,
    machineSeconds: machineSeconds(rows),
    transferOutBytes: null,
    model: attempt.model,
    tokens,
    controlPlane: region === null ? null : countsOfStages(stages, FUNCTIONS),
    sealedRequests: sandbox?.channel === 'ssm' ? sealedRequestsOf(stages, attempt.jobTries) : 0,
  };
  return {
    formatVersion: 1,
    attemptId: attempt.attemptId,
    currency: 'USD',
    priceSheet: sheetName(sheet),
    parts: [...costOfAttempt(facts, sheet)],
    facts,
  };
}

function sheetName(sheet: PriceSheet | null): string | null {
  return sheet === null ? null : `${sheet.region} ${sheet.date}`;
}

/** What the trajectory says of tokens; an agent that names no sum of money has named no price. */
export function tokenUsageOf(usage: FinalMetrics | null): TokenUsage | null {
  if (usage === null) return null;
  const { total_prompt_tokens: promptTokens, total_completion_tokens: completionTokens, total_cost_usd: usd } = usage;
  if (promptTokens === 0 && completionTokens === 0 && usd === 0) return null;
  return { promptTokens, completionTokens, usd: usd === 0 ? null : usd };
}

export function withoutAmounts(parts: readonly CostEntry[]): readonly CostBasis[] {
  return parts.map(({ part, basis, note }) => ({ part, basis, note }));
}

/** Of all attempts of a unit; null while a part of one is not known, or one is known to no row. */
export async function unitCostUsd(ports: Pick<Ports, 'unitStore'>, unit: UnitRow): Promise<number | null> {
  if (unit.attempts === 0) return 0;
  const attempts = await attemptsOf(ports.unitStore, unit.unitId);
  if (attempts.length < unit.attempts) return null;
  const totals = attempts.map(({ cost }) => totalCost(cost ?? []));
  return totals.every(({ complete }) => complete) ? totals.reduce((sum, { usd }) => sum + usd, 0) : null;
}

/** From the intent to launch until the last machine was seen gone; 0 when there was neither, null while one is left. */
function machineSeconds(rows: readonly TeardownRow[]): number | null {
  const launched = rows.filter(({ kind }) => kind === INTENT || kind === 'machine');
  const machines = launched.filter(({ kind }) => kind === 'machine');
  if (launched.some((row) => row.goneAt === null || isKept(row))) return null;
  if (machines.length === 0) return 0;
  const from = Math.min(...launched.map(({ madeAt }) => Date.parse(madeAt)));
  const until = Math.max(...machines.map(({ goneAt }) => Date.parse(goneAt ?? '')));
  return (until - from) / 1000;
}
