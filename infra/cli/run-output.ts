import path from 'node:path';
import { EXIT } from '#cli/explain-error';
import type { LocalRun } from '#cli/local-run';
import type { EndedUnit } from '#local/run-experiment';
import { LEDGER_CLASSES } from '#core/denominators';
import { resultTable } from '#core/upstream-text';

/** Prints the table of results, where the records lie, and the counts of every class. */
export function printRun(run: LocalRun, isJson: boolean): void {
  if (isJson) {
    process.stdout.write(`${JSON.stringify(asJson(run))}\n`);
    return;
  }
  const rows = run.units.map((unit) => ({ ...unit, durationSeconds: durationOf(unit, run) }));
  process.stdout.write(`${resultTable(rows)}\n\n${ledgerLine(run.units)}\n`);
  if (run.skippedUnits > 0)
    process.stdout.write(`${String(run.skippedUnits)} units were finished by an earlier run and skipped\n`);
  process.stdout.write(`records: ${run.treeRoot}\nreport:  ${path.join(run.treeRoot, 'report.html')}\n`);
}

/** Exit code of a run; a sweep that broke as a whole says so on standard error. */
export function exitCodeOf({ units, error, executionStatus }: LocalRun): number {
  if (error !== null) {
    process.stderr.write(`the sweep ended ${executionStatus}: ${error}\n`);
    return EXIT.ourFault;
  }
  return units.length > 0 && units.every(({ status }) => status === 'completed') ? EXIT.done : EXIT.notAllCompleted;
}

function durationOf(unit: EndedUnit, run: LocalRun): number | null {
  return run.durations.get(unit.unitId) ?? null;
}

/** `12 planned = 10 scored + 2 lost` */
export function ledgerLine(units: readonly Pick<EndedUnit, 'class'>[]): string {
  const parts = LEDGER_CLASSES.map((name) => [name, units.filter((unit) => unit.class === name).length] as const);
  const present = parts.filter(([, count]) => count > 0).map(([name, count]) => `${String(count)} ${name}`);
  return `${String(units.length)} planned = ${present.length === 0 ? '0' : present.join(' + ')}`;
}

function asJson(run: LocalRun): object {
  return {
    experiment: run.experiment.name,
    output: run.treeRoot,
    report: path.join(run.treeRoot, 'report.html'),
    executionStatus: run.executionStatus,
    error: run.error,
    skippedUnits: run.skippedUnits,
    units: run.units.map((unit) => ({
      unitId: unit.unitId,
      agent: unit.agentId,
      model: unit.model,
      task: unit.taskPath,
      variant: unit.variant,
      trial: unit.trial,
      class: unit.class,
      notRunReason: unit.notRunReason,
      status: unit.status,
      score: unit.score,
      attempts: unit.attempts,
      durationSeconds: durationOf(unit, run),
      runDir: unit.runDir,
    })),
  };
}
