import { messageOfCause } from '#core/attempt-verdict';
import type { Grade } from '#core/grade';
import { attemptId } from '#core/ids';
import { objectKeys, rowKeys, rowPrefixes } from '#core/keys';
import { buildReport, type UnitSummary } from '#core/report';
import { renderReport } from '#core/report-html';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow, type UnitRow } from '#core/rows';
import { stageSecondsOf } from '#core/stage-seconds';
import { UNIT_STATUSES } from '#core/status';
import { encodeParts } from '#core/utf8';
import { readBody } from '#core/stored-rows';
import type { SweepPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { unitCostUsd } from './steps/attempt-cost.ts';
import { storedSandbox } from './steps/attempt-stages.ts';
import { allRows, findRow, readSweep } from './steps/rows.ts';
import { settleUnit } from './steps/settle-unit.ts';
import { withFilms, type SeenUnit } from './steps/films.ts';
import { closeSweep } from './steps/sweeps.ts';
import { gradeOfRow, outcomeOfRow, verdictOfRow } from './steps/verdicts.ts';

type Needs = Pick<Ports, 'unitStore' | 'region' | 'artifacts' | 'runTree' | 'clock' | 'versions' | 'log'>;

export interface SweepReport {
  readonly reportKey: string;
  readonly planned: number;
  readonly scored: number;
}

/** What was not begun when its owner cancelled. */
const CANCELLED = { name: 'SweepCancelledError', message: 'the sweep was cancelled', state: 'AdmitUnit' };

/** No unit's machine runs any more; one that left its unit open ended without a word. */
const LEFT = {
  name: 'ExecutionAbortedError',
  message: 'the machine of the unit ended without closing it',
  state: 'RunAgent',
};

/** Writes the report of a run from the ledger and closes the sweep. Safe to repeat. */
export async function reportSweep({ sweepId, run }: SweepPayload, ports: Needs): Promise<SweepReport> {
  const { value: sweep } = await readSweep(ports.unitStore, sweepId);
  // Whoever may read a sweep of the API need not be one who may see costs.
  const hasAmounts = sweep.treeDir === '.';
  const plannedUnitIds: string[] = [];
  const seen: SeenUnit[] = [];
  for await (const row of allRows(ports.unitStore, { pk: rowKeys.sweep(sweepId).pk, skPrefix: rowPrefixes.unit })) {
    const planned = readBody(UnitRowSchema, row);
    if (planned.run !== run) continue;
    const unit =
      planned.class === 'open'
        ? await settleUnit(ports, planned, { run, attemptError: LEFT, refusal: sweep.cancelled ? CANCELLED : LEFT })
        : planned;
    plannedUnitIds.push(unit.unitId);
    const attempt = await lastAttempt(unit, ports);
    const { attemptId: id = null, screen = null } = attempt ?? {};
    const costUsd = hasAmounts ? await unitCostUsd(ports, unit) : null;
    seen.push({ unit: { ...summaryOf(unit, attempt), costUsd }, attemptId: id, screen });
  }
  const units = await withFilms(ports, seen);
  const data = buildReport({
    title: sweep.name,
    sweepId,
    generatedAt: ports.clock.now().toISOString(),
    plannedUnitIds,
    units,
    withoutAmounts: !hasAmounts,
    warnings: warningsOf(units),
    provenance: Object.entries(ports.versions).map(([label, value]) => ({ label, value: value ?? 'unknown' })),
  });
  const html = encodeParts(renderReport(data));
  const reportKey = objectKeys.report(sweepId);
  await ports.artifacts.put({ bucket: 'artifacts', key: reportKey }, html, { contentType: 'text/html' });
  await ports.runTree.write(sweep.treeDir, 'report.html', html);
  await closeSweep(ports, sweepId, run);
  ports.log.info('sweep.reported', { sweepId, ...data.ledger.counts });
  return { reportKey, planned: data.ledger.planned, scored: data.ledger.counts.scored };
}

async function lastAttempt(unit: UnitRow, ports: Needs): Promise<AttemptRow | null> {
  const id = unit.winningAttemptId ?? (unit.attempts > 0 ? attemptId(unit.unitId, unit.attempts) : null);
  if (id === null) return null;
  return (await findRow(ports.unitStore, rowKeys.attempt(id), AttemptRowSchema))?.value ?? null;
}

function summaryOf(unit: UnitRow, attempt: AttemptRow | null): Omit<UnitSummary, 'costUsd'> {
  const { unitId, agentId, model, taskPath, variant, trial, notRunReason, score, attempts, runDir } = unit;
  const named = {
    unitId,
    agentId,
    model,
    taskPath,
    variant,
    trial,
    class: unit.class,
    notRunReason,
    score,
    attempts,
    runDir,
  };
  const status = UNIT_STATUSES.find((each) => each === unit.status) ?? 'not_executed';
  if (attempt === null) {
    const nothing = { note: null, signatureId: null, unknownError: false, durationSeconds: null, stageSeconds: {} };
    return {
      ...named,
      status,
      ...nothing,
      outcome: null,
      isolation: null,
      network: null,
      unverified: [],
      screen: null,
    };
  }
  const outcome = outcomeOfRow(attempt);
  const grade = gradeOfRow(attempt);
  const verdict = verdictOfRow(attempt);
  const isolation = storedSandbox(attempt)?.isolation;
  return {
    ...named,
    status,
    outcome: outcome?.kind ?? null,
    note: noteOf(grade, attempt),
    signatureId: grade?.kind === 'graded' ? null : verdict.signatureId,
    unknownError: verdict.unknown,
    durationSeconds: outcome?.durationSeconds ?? null,
    stageSeconds: stageSecondsOf(attempt),
    isolation: isolation?.kind ?? null,
    network: isolation?.network ?? null,
    unverified: isolation?.kind === 'none' ? ['isolation'] : [],
    screen: null,
  };
}

function noteOf(grade: Grade | null, attempt: AttemptRow): string | null {
  if (grade?.kind === 'ungraded') return grade.message;
  return attempt.error === null ? null : `${attempt.error.name}: ${messageOfCause(attempt.error.message)}`;
}

function warningsOf(units: readonly UnitSummary[]): readonly string[] {
  const open = units.filter((unit) => unit.isolation === 'none').length;
  return open === 0
    ? []
    : [`isolation: none for ${String(open)} units; their agents ran as the user who started the sweep`];
}
