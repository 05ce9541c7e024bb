import * as z from 'zod';
import type { EvalResult, RunJson } from '#core/run-json';
import { EVAL_STATUSES, PHASES, UNIT_STATUSES } from '#core/status';
import { TERMINATION_CATEGORIES } from '#core/termination';

/** Files whose keys are upstream's: what we write is checked, what upstream may add is let through. */

const Score = z.number().min(0).max(1).nullable();
const Count = z.int().nonnegative();
const Seconds = z.number().nonnegative().nullable();

/** UTC to the second, as upstream writes it. */
const Timestamp = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

const TerminationError = z.looseObject({ type: z.string(), message: z.string(), traceback: z.string() });

const Usage = z.looseObject({
  total_steps: Count,
  total_prompt_tokens: z.number().nonnegative(),
  total_completion_tokens: z.number().nonnegative(),
  total_cached_tokens: z.number().nonnegative(),
  total_cache_creation_tokens: z.number().nonnegative(),
  total_cost_usd: z.number().nonnegative(),
  total_duration_ms: z.number().nonnegative(),
  reward: Score,
  status: z.enum(['completed', 'timeout', 'failed']),
});

/** `run.json`, schema version 2. */
export const RunJsonSchema = z.looseObject({
  schema_version: z.literal(2),
  run_id: z.string().min(1),
  timestamp_utc: Timestamp,
  agent: z.looseObject({
    id: z.string(),
    class: z.string(),
    name: z.string(),
    version: z.string().nullable(),
    model: z.string().nullable(),
    executor: z.string(),
    config_repr: z.record(z.string(), z.unknown()),
  }),
  task: z.looseObject({
    slug: z.string(),
    path: z.string().startsWith('tasks/'),
    variant_index: Count,
    revision: z.string().nullable(),
  }),
  environment: z.record(z.string(), z.unknown()),
  status: z.enum(UNIT_STATUSES),
  score: Score,
  termination: z.looseObject({
    reason: z.enum(UNIT_STATUSES),
    phase: z.enum(PHASES).nullable(),
    category: z.enum(TERMINATION_CATEGORIES).nullable(),
    error: TerminationError.nullable(),
  }),
  timings: z.looseObject({ duration_s: Seconds }),
  usage: Usage.nullable(),
}) satisfies z.ZodType<RunJson>;

/** `eval_result.json`. */
export const EvalResultSchema = z.looseObject({
  eval_status: z.enum(EVAL_STATUSES),
  score: Score,
  eval_duration_s: Seconds,
  error: TerminationError.nullable(),
}) satisfies z.ZodType<EvalResult>;

/** One line of `events.jsonl`. */
export const EventSchema = z.looseObject({
  ts: Timestamp,
  type: z.string().regex(/^[a-z][a-z0-9_]*$/),
  run_id: z.string().min(1),
  data: z.record(z.string(), z.unknown()).exactOptional(),
});
