import { isScore, type Grade } from './grade.ts';
import type { Outcome, OutcomeKind } from './outcome.ts';
import type { AttemptEnd, EvalStatus, UnitStatus } from './status.ts';

/** What upstream's `run.json` and `eval_result.json` say about an end. */
export interface UpstreamEnd {
  readonly status: UnitStatus;
  readonly evalStatus: EvalStatus;
  readonly score: number | null;
  /** `usage.status` of run.json: how the agent itself ended; null when the file has no usage. */
  readonly agentStatus: 'completed' | 'timeout' | 'failed' | null;
  /** `termination.phase`. */
  readonly phase: string | null;
  readonly durationSeconds: number;
  readonly message: string | null;
}

/**
 * Upstream's end in our words. Their files keep less than ours: `limit` is read as `timeout`, every evaluation failure as
 * `grader-failed`, and their "success" without a score in [0,1] as no grade at all, since it is none.
 */
export function readUpstreamEnd(end: UpstreamEnd): AttemptEnd {
  const kind = outcomeKindOf(end);
  const outcome: Outcome | null =
    kind === null ? null : { kind, exitCode: null, durationSeconds: end.durationSeconds, message: end.message };
  return { outcome, grade: gradeOf(end), begun: end.status !== 'not_executed' };
}

const PHASES_BEFORE_AGENT = ['env_start', 'stage_inputs', 'task_setup'];

function outcomeKindOf(end: UpstreamEnd): OutcomeKind | null {
  switch (end.status) {
    case 'completed':
      return 'completed';
    case 'cancelled':
      return 'cancelled';
    case 'not_executed':
      return null;
    case 'timeout':
      return end.agentStatus === 'timeout' || end.evalStatus !== 'timeout' ? 'timeout' : 'completed';
    case 'failed':
      return failedKindOf(end);
  }
}

/** A failed unit: its evaluation failed, or its agent, or an error stopped both. */
function failedKindOf(end: UpstreamEnd): OutcomeKind | null {
  if (end.evalStatus === 'not_executed') {
    if (end.agentStatus !== null) return end.agentStatus;
    if (end.phase === null || PHASES_BEFORE_AGENT.includes(end.phase)) return null;
    return end.phase === 'agent_run' ? 'failed' : 'completed';
  }
  return end.evalStatus === 'failed' && end.agentStatus !== 'failed' ? 'completed' : 'failed';
}

function gradeOf(end: UpstreamEnd): Grade | null {
  const message = end.message ?? `upstream evaluation ${end.evalStatus}`;
  switch (end.evalStatus) {
    case 'success':
      if (isScore(end.score)) return { kind: 'graded', score: end.score, detail: null };
      return {
        kind: 'ungraded',
        reason: 'grader-invalid-value',
        blame: 'task',
        message: `upstream recorded a successful evaluation with score ${String(end.score)}; a score lies in [0,1]`,
      };
    case 'failed':
      return { kind: 'ungraded', reason: 'grader-failed', blame: 'task', message };
    case 'timeout':
      return { kind: 'ungraded', reason: 'grader-timeout', blame: 'task', message };
    case 'not_executed':
      return null;
  }
}
