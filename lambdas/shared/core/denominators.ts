/**
 * Where a planned unit stands. `scored`: it has a grade. `forfeited`: the agent itself made a grade impossible; counts 0.
 * `lost`: ungraded by a platform fault. `task_fault`: ungraded by the task. `not_run`: never started, or stopped by its sweep's owner. `open`: not finished yet.
 */
export const LEDGER_CLASSES = ['scored', 'forfeited', 'lost', 'task_fault', 'not_run', 'open'] as const;
export type LedgerClass = (typeof LEDGER_CLASSES)[number];

export const NOT_RUN_REASONS = ['deadline', 'budget', 'cancelled', 'refused'] as const;
export type NotRunReason = (typeof NOT_RUN_REASONS)[number];

/** One closed or open unit of a sweep. `score` is set for `scored` only, `notRunReason` for `not_run` only. */
export interface LedgerRow {
  readonly unitId: string;
  readonly class: LedgerClass;
  readonly score: number | null;
  readonly notRunReason: NotRunReason | null;
}

export interface SweepLedger {
  readonly planned: number;
  /** Add up to `planned`. */
  readonly counts: Readonly<Record<LedgerClass, number>>;
  /** Add up to `counts.not_run`. */
  readonly notRun: Readonly<Record<NotRunReason, number>>;
}

/**
 * Puts each planned unit in exactly one class; a unit without a row is `open`.
 * @throws RangeError for a row that was not planned, a second row of a unit, or a class without its score or reason.
 */
export function ledgerOf(plannedUnitIds: readonly string[], rows: readonly LedgerRow[]): SweepLedger {
  const waiting = new Set(plannedUnitIds);
  if (waiting.size !== plannedUnitIds.length) throw new RangeError('a unit is planned twice; unit ids must be unique');
  const counts = { scored: 0, forfeited: 0, lost: 0, task_fault: 0, not_run: 0, open: 0 };
  const notRun = { deadline: 0, budget: 0, cancelled: 0, refused: 0 };
  for (const row of rows) {
    if (!waiting.delete(row.unitId)) {
      throw new RangeError(`unit ${JSON.stringify(row.unitId)} is not in the plan, or has two rows; it may have one`);
    }
    assertWhole(row);
    counts[row.class] += 1;
    if (row.notRunReason !== null) notRun[row.notRunReason] += 1;
  }
  counts.open += waiting.size;
  return { planned: plannedUnitIds.length, counts, notRun };
}

function assertWhole(row: LedgerRow): void {
  if ((row.class === 'scored') !== (row.score !== null)) {
    throw new RangeError(
      `unit ${row.unitId} is ${row.class} with score ${String(row.score)}; only scored units have one`,
    );
  }
  if ((row.class === 'not_run') !== (row.notRunReason !== null)) {
    throw new RangeError(
      `unit ${row.unitId} is ${row.class} with reason ${String(row.notRunReason)}; only units that did not run have one`,
    );
  }
}

/** How lost units count: as failures, not at all, or as passes. The truth lies between the first and the last. */
export const LOST_TREATMENTS = ['zero', 'excluded', 'one'] as const;
export type LostTreatment = (typeof LOST_TREATMENTS)[number];

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** `denominator` is 0 and the rates null when nothing counts. */
export interface SweepResult {
  readonly treatment: LostTreatment;
  readonly passThreshold: number;
  readonly denominator: number;
  readonly passes: number;
  readonly passRate: number | null;
  /** 95 % Wilson score interval of the pass rate. */
  readonly passInterval: Interval | null;
  readonly meanScore: number | null;
}

/** A unit passes with a score of at least this, unless somebody says otherwise. */
export const DEFAULT_PASS_THRESHOLD = 1;

/**
 * Task faults and units that were not run are in no denominator: they say nothing about the agent.
 * @throws RangeError for a threshold outside (0,1].
 */
export function resultsOf(
  rows: readonly Pick<LedgerRow, 'class' | 'score'>[],
  passThreshold: number = DEFAULT_PASS_THRESHOLD,
): readonly SweepResult[] {
  if (!(passThreshold > 0 && passThreshold <= 1)) {
    throw new RangeError(`pass threshold is ${String(passThreshold)}; it lies above 0 and at most at 1`);
  }
  return LOST_TREATMENTS.map((treatment) => resultOf(rows, treatment, passThreshold));
}

function resultOf(
  rows: readonly Pick<LedgerRow, 'class' | 'score'>[],
  treatment: LostTreatment,
  passThreshold: number,
): SweepResult {
  const scores: number[] = [];
  for (const row of rows) {
    if (row.class === 'scored') scores.push(row.score ?? 0);
    else if (row.class === 'forfeited') scores.push(0);
    else if (row.class === 'lost' && treatment !== 'excluded') scores.push(treatment === 'one' ? 1 : 0);
  }
  const passes = scores.filter((score) => score >= passThreshold).length;
  const denominator = scores.length;
  if (denominator === 0) {
    return { treatment, passThreshold, denominator, passes, passRate: null, passInterval: null, meanScore: null };
  }
  return {
    treatment,
    passThreshold,
    denominator,
    passes,
    passRate: passes / denominator,
    passInterval: wilsonInterval(passes, denominator),
    meanScore: scores.reduce((sum, score) => sum + score, 0) / denominator,
  };
}

/** Standard normal quantile at 0.975. */
const Z_95 = 1.959963984540054;

/** Wilson score interval (1927) of a proportion at 95 %; never leaves [0,1]. */
export function wilsonInterval(passes: number, trials: number): Interval {
  if (!Number.isInteger(trials) || trials < 1 || !Number.isInteger(passes) || passes < 0 || passes > trials) {
    throw new RangeError(
      `cannot take ${String(passes)} of ${String(trials)}; needs whole numbers, 0 <= passes <= trials, trials >= 1`,
    );
  }
  const share = passes / trials;
  const squared = Z_95 * Z_95;
  const scale = 1 + squared / trials;
  const centre = (share + squared / (2 * trials)) / scale;
  const half = (Z_95 / scale) * Math.sqrt((share * (1 - share)) / trials + squared / (4 * trials * trials));
  return {
    low: passes === 0 ? 0 : Math.max(0, centre - half),
    high: passes === trials ? 1 : Math.min(1, centre + half),
  };
}
