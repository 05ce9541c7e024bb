/** How the agent phase of an attempt ended. */
export const OUTCOME_KINDS = ['completed', 'timeout', 'limit', 'failed', 'cancelled'] as const;

/**
 * `completed`: the agent ended by itself and without complaint. `timeout`: its wall time ran out.
 * `limit`: another allowance (turns, tokens, money) ran out. `failed`: it ended badly. `cancelled`: somebody stopped it.
 */
export type OutcomeKind = (typeof OUTCOME_KINDS)[number];

/** `exitCode` is null when there was no process to ask, or a signal ended it. */
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly exitCode: number | null;
  readonly durationSeconds: number | null;
  readonly message: string | null;
}
