import type { TrajectoryDraft } from '#sdk';

/** An agent that does nothing has no steps. */
export function parse(): TrajectoryDraft {
  return { steps: [] };
}
