import { ATIF_VERSION, type AtifTrajectory } from './atif.ts';
import type { OutcomeKind } from './outcome.ts';
import { ScreenshotCollector, type CollectedPicture, type Screenshot } from './trajectory-images.ts';
import { toAtifSteps } from './trajectory-steps.ts';
import type { StepMetrics, TrajectoryDraft, TrajectoryStep } from './trajectory-types.ts';

/** Totals of a run under upstream's names; `usage` of run.json. */
export interface FinalMetrics {
  readonly total_steps: number;
  readonly total_prompt_tokens: number;
  readonly total_completion_tokens: number;
  readonly total_cached_tokens: number;
  readonly total_cache_creation_tokens: number;
  readonly total_cost_usd: number;
  readonly total_duration_ms: number;
  readonly reward: number | null;
  readonly status: 'completed' | 'timeout' | 'failed';
}

export interface TrajectoryInput {
  readonly sessionId: string;
  readonly agent: { readonly name: string; readonly version: string | null; readonly model: string | null };
  readonly taskPath: string;
  readonly variant: number;
  /** As the agent got it, with the suffix. */
  readonly prompt: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly outcome: OutcomeKind;
  readonly score: number | null;
  readonly durationSeconds: number;
  readonly draft: TrajectoryDraft;
  /** Files of the agent's work folder that steps refer to, by their names there. */
  readonly pictures?: ReadonlyMap<string, CollectedPicture>;
}

export interface BuiltTrajectory {
  readonly trajectory: AtifTrajectory;
  readonly usage: FinalMetrics;
  readonly screenshots: readonly Screenshot[];
  /** What of the draft could not be kept as it was. */
  readonly warnings: readonly string[];
}

/** `trajectory.json` and its pictures, from the prompt and what the agent's parser made of its log. */
export function buildTrajectory(input: TrajectoryInput): BuiltTrajectory {
  const { draft } = input;
  const images = new ScreenshotCollector(input.pictures);
  const prompt: TrajectoryStep = { source: 'user', message: input.prompt, timestamp: input.startedAt };
  const steps = toAtifSteps([prompt, ...draft.steps], images);
  const totalsWarnings: string[] = [];
  const usage = usageOf(input, steps.length, totalsWarnings);
  const warnings = [...images.warnings, ...totalsWarnings];
  const version = draft.agentVersion ?? input.agent.version ?? 'unknown';
  const trajectory: AtifTrajectory = {
    schema_version: ATIF_VERSION,
    session_id: input.sessionId,
    trajectory_id: input.sessionId,
    agent: {
      name: input.agent.name,
      version,
      ...(input.agent.model === null ? {} : { model_name: input.agent.model }),
    },
    steps,
    final_metrics: finalMetricsOf(usage),
    extra: {
      ...draft.extra,
      task_path: input.taskPath,
      variant_index: input.variant,
      instruction: input.prompt,
      started_at: input.startedAt,
      ended_at: input.endedAt,
      ...(warnings.length === 0 ? {} : { warnings }),
    },
  };
  return { trajectory, usage, screenshots: images.screenshots, warnings };
}

const STEP_METRIC_OF_TOTAL = {
  total_prompt_tokens: 'prompt_tokens',
  total_completion_tokens: 'completion_tokens',
  total_cached_tokens: 'cached_tokens',
  total_cache_creation_tokens: 'cache_creation_tokens',
  total_cost_usd: 'cost_usd',
} as const satisfies Record<string, keyof StepMetrics>;

type SummedTotal = keyof typeof STEP_METRIC_OF_TOTAL;

const AGENT_STATUS: Readonly<Record<OutcomeKind, FinalMetrics['status']>> = {
  completed: 'completed',
  timeout: 'timeout',
  limit: 'timeout',
  failed: 'failed',
  cancelled: 'failed',
};

/**
 * Sums over the steps; a total the agent itself declares is taken instead of the sum, key by key. No money in total beside
 * steps that name some is no total.
 */
function usageOf(input: TrajectoryInput, stepCount: number, warnings: string[]): FinalMetrics {
  const declared = input.draft.finalMetrics ?? {};
  for (const [key, value] of Object.entries(declared)) {
    if (!(key in STEP_METRIC_OF_TOTAL)) {
      const allowed = Object.keys(STEP_METRIC_OF_TOTAL).join(', ');
      warnings.push(`the parser declares the total ${key}; it is left out (allowed: ${allowed})`);
    } else if (!(Number.isFinite(value) && value >= 0)) {
      warnings.push(`the parser declares ${key} as ${String(value)}; the sum of the steps is taken instead`);
    }
  }
  const totalOf = (key: SummedTotal): number => {
    const own = declared[key];
    const isTotal = own !== undefined && Number.isFinite(own) && (key === 'total_cost_usd' ? own > 0 : own >= 0);
    if (isTotal) return own;
    return input.draft.steps.reduce((sum, step) => sum + (step.metrics?.[STEP_METRIC_OF_TOTAL[key]] ?? 0), 0);
  };
  return {
    total_steps: stepCount,
    total_prompt_tokens: totalOf('total_prompt_tokens'),
    total_completion_tokens: totalOf('total_completion_tokens'),
    total_cached_tokens: totalOf('total_cached_tokens'),
    total_cache_creation_tokens: totalOf('total_cache_creation_tokens'),
    total_cost_usd: totalOf('total_cost_usd'),
    total_duration_ms: Math.round(input.durationSeconds * 1000),
    reward: input.score,
    status: AGENT_STATUS[input.outcome],
  };
}

function finalMetricsOf(usage: FinalMetrics): AtifTrajectory['final_metrics'] {
  return {
    total_prompt_tokens: usage.total_prompt_tokens,
    total_completion_tokens: usage.total_completion_tokens,
    total_cached_tokens: usage.total_cached_tokens,
    total_cost_usd: usage.total_cost_usd,
    total_steps: usage.total_steps,
    extra: {
      total_cache_creation_tokens: usage.total_cache_creation_tokens,
      total_duration_ms: usage.total_duration_ms,
      ...(usage.reward === null ? {} : { reward: usage.reward }),
      status: usage.status,
    },
  };
}
