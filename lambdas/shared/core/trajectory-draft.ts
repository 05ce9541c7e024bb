import * as z from 'zod';
import type { TrajectoryDraft } from './trajectory-types.ts';

const ContentPart = z.object({
  type: z.enum(['text', 'image']),
  text: z.string().exactOptional(),
  source: z
    .object({ media_type: z.string(), path: z.string().exactOptional(), base64: z.string().exactOptional() })
    .exactOptional(),
});
const Content = z.union([z.string(), z.array(ContentPart)]);
const Count = z.number().nonnegative();
const Extra = z.record(z.string(), z.unknown());

const Step = z.object({
  timestamp: z.string().exactOptional(),
  source: z.enum(['system', 'user', 'agent', 'environment']),
  message: Content.exactOptional(),
  reasoning_content: z.string().exactOptional(),
  tool_calls: z
    .array(z.object({ tool_call_id: z.string(), function_name: z.string(), arguments: Extra }))
    .exactOptional(),
  observation: z
    .object({
      results: z.array(
        z.object({
          source_call_id: z.string().exactOptional(),
          content: Content,
          is_error: z.boolean().exactOptional(),
        }),
      ),
      error: z.string().exactOptional(),
    })
    .exactOptional(),
  metrics: z
    .object({
      prompt_tokens: Count.exactOptional(),
      completion_tokens: Count.exactOptional(),
      cached_tokens: Count.exactOptional(),
      cache_creation_tokens: Count.exactOptional(),
      cost_usd: Count.exactOptional(),
      duration_ms: Count.exactOptional(),
    })
    .exactOptional(),
  extra: Extra.exactOptional(),
});

/** What a parser returned, before anyone trusts it. Unknown keys are dropped. */
export const TrajectoryDraftSchema = z.object({
  steps: z.array(Step),
  finalMetrics: z.record(z.string(), z.number()).exactOptional(),
  agentVersion: z.string().exactOptional(),
  extra: Extra.exactOptional(),
}) satisfies z.ZodType<TrajectoryDraft>;

/** The draft, or no steps and why: a parser that fails costs the trajectory, never the grade. */
export function readTrajectoryDraft(value: unknown): {
  readonly draft: TrajectoryDraft;
  readonly problem: string | null;
} {
  const parsed = TrajectoryDraftSchema.safeParse(value);
  if (parsed.success) return { draft: parsed.data, problem: null };
  return { draft: { steps: [] }, problem: `the parser returned no trajectory: ${z.prettifyError(parsed.error)}` };
}
