import type { Stage } from './errors.ts';
import type { Grade, UngradedReason } from './grade.ts';
import type { Outcome, OutcomeKind } from './outcome.ts';

/** Upstream's words for how a unit ended. Its resume takes `completed` and `timeout` as final. */
export const UNIT_STATUSES = ['completed', 'timeout', 'failed', 'cancelled', 'not_executed'] as const;
export type UnitStatus = (typeof UNIT_STATUSES)[number];

/** Upstream's words for how the evaluation ended. */
export const EVAL_STATUSES = ['success', 'failed', 'timeout', 'not_executed'] as const;
export type EvalStatus = (typeof EVAL_STATUSES)[number];

/** Upstream's words for the part of a unit in which it ended. */
export const PHASES = [
  'env_start',
  'stage_inputs',
  'task_setup',
  'agent_run',
  'agent_stop',
  'stage_reference',
  'evaluation',
  'cleanup',
] as const;
export type Phase = (typeof PHASES)[number];

/** The end of an attempt in our words. `begun` is false while nothing was provisioned for it. */
export interface AttemptEnd {
  readonly outcome: Outcome | null;
  readonly grade: Grade | null;
  readonly begun: boolean;
}

interface StatusRow {
  readonly outcome: readonly (OutcomeKind | 'none')[];
  readonly begun: boolean | 'any';
  readonly evalStatus: readonly EvalStatus[];
  readonly status: UnitStatus;
}

const ENDED: readonly OutcomeKind[] = ['completed', 'timeout', 'limit', 'failed'];
const EVALUATED: readonly EvalStatus[] = ['success', 'failed', 'timeout'];

/**
 * The one table between our words and upstream's; the first row that fits decides. Upstream's promotion order:
 * cancelled, an error that left the unit unevaluated, the agent's timeout, its failure, the evaluation's timeout, its failure.
 */
export const STATUS_TABLE: readonly StatusRow[] = [
  { outcome: ['cancelled'], begun: 'any', evalStatus: EVAL_STATUSES, status: 'cancelled' },
  { outcome: ['none'], begun: false, evalStatus: EVAL_STATUSES, status: 'not_executed' },
  { outcome: ['none'], begun: true, evalStatus: EVAL_STATUSES, status: 'failed' },
  { outcome: ENDED, begun: 'any', evalStatus: ['not_executed'], status: 'failed' },
  { outcome: ['timeout', 'limit'], begun: 'any', evalStatus: EVALUATED, status: 'timeout' },
  { outcome: ['failed'], begun: 'any', evalStatus: EVALUATED, status: 'failed' },
  { outcome: ['completed'], begun: 'any', evalStatus: ['timeout'], status: 'timeout' },
  { outcome: ['completed'], begun: 'any', evalStatus: ['failed'], status: 'failed' },
  { outcome: ['completed'], begun: 'any', evalStatus: ['success'], status: 'completed' },
];

/** Upstream evaluates only after staging the reference, so what stops us before the grader ran is `not_executed` there. */
const EVAL_STATUS_OF_REASON: Readonly<Record<UngradedReason, EvalStatus>> = {
  'grader-failed': 'failed',
  'grader-timeout': 'timeout',
  'grader-invalid-value': 'failed',
  'grader-memory': 'failed',
  'reference-missing': 'not_executed',
  'platform-fault': 'not_executed',
  cancelled: 'not_executed',
  'not-run': 'not_executed',
  'agent-not-stopped': 'not_executed',
  'output-lost': 'not_executed',
  'task-setup-failed': 'not_executed',
};

/** What upstream would call this grade; no grade at all is `not_executed`. */
export function evalStatusOf(grade: Grade | null): EvalStatus {
  if (grade === null) return 'not_executed';
  return grade.kind === 'graded' ? 'success' : EVAL_STATUS_OF_REASON[grade.reason];
}

/** What upstream would call this end of an attempt. */
export function unitStatusOf(end: AttemptEnd): UnitStatus {
  if (end.grade?.kind === 'ungraded' && end.grade.reason === 'cancelled') return 'cancelled';
  const outcome = end.outcome?.kind ?? 'none';
  const evalStatus = evalStatusOf(end.grade);
  const row = STATUS_TABLE.find(
    (each) =>
      each.outcome.includes(outcome) &&
      (each.begun === 'any' || each.begun === end.begun) &&
      each.evalStatus.includes(evalStatus),
  );
  if (row === undefined) throw new TypeError(`no status for outcome ${outcome} with evaluation ${evalStatus}`);
  return row.status;
}

/** The score upstream's files carry; null unless graded. */
export function scoreOf(grade: Grade | null): number | null {
  return grade?.kind === 'graded' ? grade.score : null;
}

const PHASE_OF_STAGE: Readonly<Record<Stage, Phase | null>> = {
  request: null,
  plan: null,
  admit: null,
  provision: 'env_start',
  await: 'env_start',
  stage: 'stage_inputs',
  setup: 'task_setup',
  run: 'agent_run',
  collect: 'agent_stop',
  grade: 'evaluation',
  release: 'cleanup',
  record: 'cleanup',
  close: 'cleanup',
  report: null,
  store: null,
};

/** Upstream's phase of one of our stages; a missing reference has a phase of its own there. */
export function phaseOf(stage: Stage, errorName: string | null = null): Phase | null {
  return errorName === 'ReferenceMissingError' ? 'stage_reference' : PHASE_OF_STAGE[stage];
}
