import { unitPaths, type UnitPaths } from '#core/guest-paths';
import type { AttemptRow } from '#core/rows';
import { agentSlug } from '#core/slugs';
import type { Sandbox } from '#ports/sandbox-provider';
import type { AttemptInputs } from './inputs.ts';

/** Where the attempt's files lie in its sandbox. */
export function attemptPaths(
  attempt: AttemptRow,
  sandbox: Sandbox,
  { variant }: Pick<AttemptInputs, 'variant'>,
): UnitPaths {
  return unitPaths(sandbox.os, sandbox.paths, {
    taskPath: attempt.taskPath,
    variantName: variant.name,
    agentName: agentSlug(attempt.agentId),
    runName: attempt.runId ?? attempt.attemptId,
  });
}
