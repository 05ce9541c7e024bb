import * as z from 'zod';
import { ATIF_VERSION, type AtifTrajectory } from '#core/atif';

const Extra = z.record(z.string(), z.unknown());
const Count = z.number().nonnegative();

const ContentPart = z.looseObject({
  type: z.enum(['text', 'image']),
  text: z.string().exactOptional(),
  source: z.looseObject({ media_type: z.string(), path: z.string() }).exactOptional(),
});
const Content = z.union([z.string(), z.array(ContentPart)]);

const Step = z.looseObject({
  step_id: z.int().positive(),
  timestamp: z.string().exactOptional(),
  source: z.enum(['system', 'user', 'agent']),
  message: Content,
  reasoning_content: z.string().exactOptional(),
  tool_calls: z
    .array(z.looseObject({ tool_call_id: z.string(), function_name: z.string(), arguments: Extra }))
    .exactOptional(),
  observation: z
    .looseObject({
      results: z.array(
        z.looseObject({
          source_call_id: z.string().exactOptional(),
          content: Content.exactOptional(),
          extra: Extra.exactOptional(),
        }),
      ),
    })
    .exactOptional(),
  metrics: z
    .looseObject({
      prompt_tokens: Count.exactOptional(),
      completion_tokens: Count.exactOptional(),
      cached_tokens: Count.exactOptional(),
      cost_usd: Count.exactOptional(),
      extra: Extra.exactOptional(),
    })
    .exactOptional(),
  extra: Extra.exactOptional(),
});

/** `trajectory.json` as far as a JSON Schema can say it. */
export const TrajectorySchema = z.looseObject({
  schema_version: z.literal(ATIF_VERSION),
  session_id: z.string().min(1),
  trajectory_id: z.string().min(1),
  agent: z.looseObject({
    name: z.string().min(1),
    version: z.string().min(1),
    model_name: z.string().exactOptional(),
    extra: Extra.exactOptional(),
  }),
  steps: z.array(Step).min(1),
  final_metrics: z.looseObject({
    total_prompt_tokens: Count,
    total_completion_tokens: Count,
    total_cached_tokens: Count,
    total_cost_usd: Count,
    total_steps: z.int().nonnegative(),
    extra: Extra,
  }),
  continued_trajectory_ref: z.string().exactOptional(),
  get subagent_trajectories() {
    return z.array(TrajectorySchema).exactOptional();
  },
  extra: Extra,
});

/** What else the format asks for: steps numbered from 1, fields of the agent at its own steps, results beside their calls. */
export function trajectoryProblems(trajectory: AtifTrajectory): readonly string[] {
  const problems: string[] = [];
  trajectory.steps.forEach((step, index) => {
    const at = `steps[${String(index)}]`;
    if (step.step_id !== index + 1)
      problems.push(`${at}.step_id is ${String(step.step_id)}; expected ${String(index + 1)}`);
    if (step.source !== 'agent') {
      for (const key of ['reasoning_content', 'tool_calls', 'metrics'] as const) {
        if (step[key] !== undefined)
          problems.push(`${at} of source ${step.source} has ${key}; only the agent's steps may`);
      }
    }
    const calls = new Set((step.tool_calls ?? []).map((call) => call.tool_call_id));
    for (const result of step.observation?.results ?? []) {
      if (result.source_call_id !== undefined && !calls.has(result.source_call_id)) {
        problems.push(`${at} has a result for ${result.source_call_id}, which is no tool call of that step`);
      }
    }
  });
  const { total_steps: total } = trajectory.final_metrics;
  if (total !== trajectory.steps.length) {
    problems.push(`final_metrics.total_steps is ${String(total)}; there are ${String(trajectory.steps.length)} steps`);
  }
  return problems;
}
