import { unitId } from '#core/ids';
import { agentSlug, modelSlug, taskSlug } from '#core/slugs';

/** Longest a Step Functions task may wait: one year. */
const LONGEST_WAIT_SECONDS = 31_536_000;

/** Room around the agent's own budget for starting the job and hearing of its end. */
export const RUN_MARGIN_SECONDS = 900;

export interface UnitSeconds {
  readonly admitSeconds: number;
  readonly awaitSeconds: number;
  readonly stageSeconds: number;
  readonly runSeconds: number;
  readonly collectSeconds: number;
  readonly gradeSeconds: number;
}

/** Time limits of one unit's states, from the sweep's deadline and the task's own limits. */
export function unitSeconds(limits: {
  readonly nowIso: string;
  readonly deadlineAt: string;
  readonly agentTimeoutSeconds: number;
  readonly gradingTimeoutSeconds: number;
}): UnitSeconds {
  const left = Math.ceil((Date.parse(limits.deadlineAt) - Date.parse(limits.nowIso)) / 1000);
  return {
    admitSeconds: Math.min(Math.max(left, 1), LONGEST_WAIT_SECONDS),
    awaitSeconds: 1800,
    stageSeconds: 3600,
    runSeconds: Math.min(limits.agentTimeoutSeconds + RUN_MARGIN_SECONDS, LONGEST_WAIT_SECONDS),
    collectSeconds: 3600,
    gradeSeconds: limits.gradingTimeoutSeconds + 3600,
  };
}

/** How long a sandbox may exist: every state's limit, set-up and release included. */
export function lifeSeconds(seconds: UnitSeconds): number {
  const { awaitSeconds, stageSeconds, runSeconds, collectSeconds, gradeSeconds } = seconds;
  return awaitSeconds + stageSeconds + runSeconds + collectSeconds + gradeSeconds + 3600;
}

export interface UnitName {
  readonly agentId: string;
  readonly model: string | null;
  readonly taskPath: string;
  readonly variant: number;
  readonly trial: number;
}

/** Id and run-tree folder of a unit; trials after the first have a folder of their own, as upstream's have. */
export function namesOfUnit(
  sweepId: string,
  unit: UnitName,
  trials: number,
): { readonly unitId: string; readonly unitDir: string } {
  const slugs = {
    agentSlug: agentSlug(unit.agentId),
    modelSlug: modelSlug(unit.model),
    taskSlug: taskSlug(unit.taskPath),
  };
  const variantDir = [slugs.agentSlug, slugs.modelSlug, slugs.taskSlug, `v${String(unit.variant)}`].join('/');
  return {
    unitId: unitId(sweepId, { ...slugs, variant: unit.variant, trial: unit.trial }),
    unitDir: trials === 1 ? variantDir : `${variantDir}/trial_${String(unit.trial).padStart(3, '0')}`,
  };
}

/** `YYYYMMDD_HHMMSS` in UTC. */
export function runStamp(iso: string): string {
  return iso.slice(0, 19).replaceAll('-', '').replaceAll(':', '').replace('T', '_');
}
