import type { Blame } from './errors.ts';

/** Why a unit has no grade. */
export const UNGRADED_REASONS = [
  'grader-failed',
  'grader-timeout',
  'grader-invalid-value',
  'grader-memory',
  'reference-missing',
  'platform-fault',
  'cancelled',
  'not-run',
  'agent-not-stopped',
  'output-lost',
  'task-setup-failed',
] as const;

export type UngradedReason = (typeof UNGRADED_REASONS)[number];

/** A score in [0,1], with what else the grader returned. */
export interface Graded {
  readonly kind: 'graded';
  readonly score: number;
  readonly detail: Readonly<Record<string, unknown>> | null;
}

/** No score; a fault that is not the agent's is never a 0. */
export interface Ungraded {
  readonly kind: 'ungraded';
  readonly reason: UngradedReason;
  readonly blame: Blame;
  readonly message: string;
}

export type Grade = Graded | Ungraded;

/** True for a finite number in [0,1]; booleans, text and lists are no scores. */
export function isScore(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1;
}
