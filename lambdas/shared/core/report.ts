import {
  DEFAULT_PASS_THRESHOLD,
  LEDGER_CLASSES,
  ledgerOf,
  resultsOf,
  type LedgerClass,
  type NotRunReason,
  type SweepLedger,
  type SweepResult,
} from './denominators.ts';
import type { Stage } from './errors.ts';
import type { FilmFrame } from './film-strip.ts';
import type { OutcomeKind } from './outcome.ts';
import type { UnitStatus } from './status.ts';

/** One unit as the report needs it, taken from its last or winning attempt. */
export interface UnitSummary {
  readonly unitId: string;
  readonly agentId: string;
  readonly model: string | null;
  readonly taskPath: string;
  readonly variant: number;
  readonly trial: number;
  readonly class: LedgerClass;
  readonly notRunReason: NotRunReason | null;
  readonly outcome: OutcomeKind | null;
  readonly status: UnitStatus;
  readonly score: number | null;
  /** Why there is no score, or what went wrong; null when there is nothing to say. */
  readonly note: string | null;
  /** The row of the blame table that decided; null without an error. */
  readonly signatureId: string | null;
  readonly unknownError: boolean;
  readonly attempts: number;
  /** Of the agent phase. */
  readonly durationSeconds: number | null;
  readonly stageSeconds: Readonly<Partial<Record<Stage, number>>>;
  /** Run folder of that attempt, relative to the folder of the report; null without one. */
  readonly runDir: string | null;
  readonly isolation: 'machine' | 'namespaces' | 'none' | null;
  readonly network: 'own' | 'host' | null;
  /** Of all its attempts; null where a part is not known. */
  readonly costUsd: number | null;
  readonly unverified: readonly string[];
  /** Null for a unit without desktop and pictures. */
  readonly screen: UnitScreen | null;
}

/** What was seen of a unit's screen. */
export interface UnitScreen {
  /** Pictures of the trajectory's steps. */
  readonly screenshots: number;
  readonly hasFinal: boolean;
  /** Null when the agent left no such file. */
  readonly guiEvents: number | null;
  /** A few of its pictures, in order. */
  readonly frames: readonly FilmFrame[];
}

export interface ReportInput {
  readonly title: string;
  readonly sweepId: string;
  /** ISO-8601 UTC. */
  readonly generatedAt: string;
  readonly plannedUnitIds: readonly string[];
  /** At most one for each planned unit; a planned unit without one is open. */
  readonly units: readonly UnitSummary[];
  readonly passThreshold?: number;
  /** Says nothing of money, where not everybody who reads it may see costs. */
  readonly withoutAmounts?: boolean;
  /** What was asked for but not planned, and what would enable it. */
  readonly notPlanned?: readonly { readonly what: string; readonly enabledBy: string }[];
  readonly warnings?: readonly string[];
  /** Versions, hashes and limits to print at the foot. */
  readonly provenance?: readonly { readonly label: string; readonly value: string }[];
}

export interface ReportCell {
  readonly planned: number;
  readonly counts: Readonly<Record<LedgerClass, number>>;
  /** Lost units excluded. */
  readonly result: SweepResult;
}

export interface AgentResults {
  readonly agent: string;
  readonly ledger: SweepLedger;
  /** Lost units as 0, excluded and as 1. */
  readonly results: readonly SweepResult[];
}

export interface StageDuration {
  readonly stage: string;
  readonly units: number;
  readonly medianSeconds: number;
  readonly longestSeconds: number;
  readonly totalSeconds: number;
}

export interface ReportData {
  readonly title: string;
  readonly sweepId: string;
  readonly generatedAt: string;
  readonly passThreshold: number;
  readonly ledger: SweepLedger;
  readonly overall: readonly SweepResult[];
  readonly agents: readonly AgentResults[];
  /** `cells[i]` belongs to `agents[i]`; null where the agent had no such task. */
  readonly tasks: readonly { readonly taskPath: string; readonly cells: readonly (ReportCell | null)[] }[];
  readonly stages: readonly StageDuration[];
  readonly units: readonly UnitSummary[];
  readonly unseenUnitIds: readonly string[];
  /** Null in a report without amounts. */
  readonly costUsd: { readonly known: number; readonly unknownUnits: number } | null;
  readonly notPlanned: readonly { readonly what: string; readonly enabledBy: string }[];
  readonly warnings: readonly string[];
  readonly provenance: readonly { readonly label: string; readonly value: string }[];
}

/**
 * Everything the page shows, counted once.
 * @throws RangeError when the units do not fit the plan.
 */
export function buildReport(input: ReportInput): ReportData {
  const { units } = input;
  const passThreshold = input.passThreshold ?? DEFAULT_PASS_THRESHOLD;
  const seen = new Set(units.map((unit) => unit.unitId));
  const byAgent = groupBy(units, agentLabel);
  const taskPaths = [...new Set(units.map((unit) => unit.taskPath))].sort();
  const byAgentAndTask = [...byAgent.values()].map((some) => groupBy(some, (unit) => unit.taskPath));
  return {
    title: input.title,
    sweepId: input.sweepId,
    generatedAt: input.generatedAt,
    passThreshold,
    ledger: ledgerOf(input.plannedUnitIds, units),
    overall: resultsOf(units, passThreshold),
    agents: [...byAgent].map(([agent, some]) => agentResults(agent, some, passThreshold)),
    tasks: taskPaths.map((taskPath) => ({
      taskPath,
      cells: byAgentAndTask.map((byTask) => cellOf(byTask.get(taskPath) ?? [], passThreshold)),
    })),
    stages: stageDurations(units),
    units,
    unseenUnitIds: input.plannedUnitIds.filter((id) => !seen.has(id)),
    costUsd: input.withoutAmounts === true ? null : costOf(units),
    notPlanned: input.notPlanned ?? [],
    warnings: [...warningsOf(units), ...(input.warnings ?? [])],
    provenance: input.provenance ?? [],
  };
}

/** An agent with its model, as tables name it. */
export function agentLabel(unit: Pick<UnitSummary, 'agentId' | 'model'>): string {
  return unit.model === null ? unit.agentId : `${unit.agentId} (${unit.model})`;
}

function groupBy(units: readonly UnitSummary[], keyOf: (unit: UnitSummary) => string): Map<string, UnitSummary[]> {
  const groups = new Map<string, UnitSummary[]>();
  for (const unit of units) {
    const group = groups.get(keyOf(unit));
    if (group === undefined) groups.set(keyOf(unit), [unit]);
    else group.push(unit);
  }
  return groups;
}

function ownLedger(units: readonly UnitSummary[]): SweepLedger {
  return ledgerOf(
    units.map((unit) => unit.unitId),
    units,
  );
}

function agentResults(agent: string, units: readonly UnitSummary[], passThreshold: number): AgentResults {
  return { agent, ledger: ownLedger(units), results: resultsOf(units, passThreshold) };
}

function cellOf(units: readonly UnitSummary[], passThreshold: number): ReportCell | null {
  const result = resultsOf(units, passThreshold).find((each) => each.treatment === 'excluded');
  if (units.length === 0 || result === undefined) return null;
  const { planned, counts } = ownLedger(units);
  return { planned, counts, result };
}

/** Stages in the order of the pipeline; those nobody timed are left out. */
const STAGE_ORDER: readonly Stage[] = [
  'admit',
  'provision',
  'await',
  'stage',
  'setup',
  'run',
  'collect',
  'grade',
  'release',
  'record',
  'close',
];

function stageDurations(units: readonly UnitSummary[]): readonly StageDuration[] {
  return STAGE_ORDER.flatMap((stage) => {
    const seconds = units.flatMap((unit) => unit.stageSeconds[stage] ?? []).sort((left, right) => left - right);
    const longestSeconds = seconds.at(-1);
    if (longestSeconds === undefined) return [];
    const totalSeconds = seconds.reduce((sum, each) => sum + each, 0);
    return [{ stage, units: seconds.length, medianSeconds: medianOf(seconds), longestSeconds, totalSeconds }];
  });
}

function medianOf(sorted: readonly number[]): number {
  const upper = Math.floor(sorted.length / 2);
  const lower = Math.ceil(sorted.length / 2) - 1;
  return ((sorted[lower] ?? 0) + (sorted[upper] ?? 0)) / 2;
}

function costOf(units: readonly UnitSummary[]): ReportData['costUsd'] {
  return {
    known: units.reduce((sum, unit) => sum + (unit.costUsd ?? 0), 0),
    unknownUnits: units.filter((unit) => unit.costUsd === null).length,
  };
}

function warningsOf(units: readonly UnitSummary[]): readonly string[] {
  const count = (test: (unit: UnitSummary) => boolean): number => units.filter(test).length;
  const open = count((unit) => unit.isolation === 'none');
  const shared = count((unit) => unit.network === 'host');
  const unknown = count((unit) => unit.unknownError);
  const unverified = [...new Set(units.flatMap((unit) => unit.unverified))].sort();
  return [
    ...(open > 0
      ? [`isolation: none for ${unitCount(open)}: the agent could see this computer's files and processes`]
      : []),
    ...(shared > 0 ? [`network: host for ${unitCount(shared)}: the agent shared this computer's network`] : []),
    ...(unknown > 0
      ? [`${unitCount(unknown)} ended with an error that the blame table does not know; add a row for it`]
      : []),
    ...unverified.map((part) => `not verified: ${part}`),
  ];
}

function unitCount(count: number): string {
  return count === 1 ? '1 unit' : `${String(count)} units`;
}

/** `3 scored + 1 forfeited + ... = 4 planned`, every class named. */
export function ledgerSum(ledger: SweepLedger): string {
  const parts = LEDGER_CLASSES.map((each) => `${String(ledger.counts[each])} ${each.replace('_', ' ')}`);
  return `${parts.join(' + ')} = ${String(ledger.planned)} planned`;
}
