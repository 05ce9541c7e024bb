import * as z from 'zod';
import { CLEANUP_MODES } from '#core/cleanup-mode';

const AgentRequestSchema = z.strictObject({
  /** Output folder name before slugging; the agent file's `id`. */
  id: z.string().min(1),
  /** Published agent. */
  agentId: z.string().min(1),
  harness: z.string().min(1),
  model: z.string().nullable(),
  manifestKey: z.string().min(1),
  config: z.record(z.string(), z.unknown()),
});

const TaskRequestSchema = z.strictObject({
  path: z.string().min(1),
  manifestKey: z.string().min(1),
  variants: z.array(z.int().nonnegative()).min(1),
});

export const SnapshotRequestSchema = z.strictObject({
  provider: z.string().min(1),
  image: z.string().min(1),
  os: z.enum(['linux', 'windows']),
  resolution: z.string().nullable(),
  knobs: z.record(z.string(), z.unknown()),
});

/** Key of a provider that serves every snapshot tag. */
export const ANY_SNAPSHOT = '*';

/** Thirty days; the longest wait of a state machine is a year. */
export const LONGEST_WALL_SECONDS = 30 * 24 * 3600;

export const SweepLimitsSchema = z.strictObject({
  concurrency: z.int().positive(),
  maxAttempts: z.int().min(1).max(3),
  /** Overrides each card's agent budget. */
  wallTimeSeconds: z.int().positive().max(LONGEST_WALL_SECONDS).nullable(),
  deadlineAt: z.iso.datetime(),
  budgetUsd: z.number().positive().nullable(),
  /** By agent id; an agent that is absent is bounded by `concurrency` alone. */
  agentConcurrency: z.record(z.string(), z.int().positive()),
});
export type SweepLimits = z.infer<typeof SweepLimitsSchema>;

/** Everything a sweep runs from; revisions are pinned by the manifest keys. Stored once per run of the experiment. */
export const SweepRequestSchema = z.strictObject({
  version: z.literal(1),
  /** Short enough that an execution can be named after it and its run. */
  sweepId: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/u),
  /** From 1; one more for each time the experiment is run again. */
  run: z.int().positive(),
  name: z.string().min(1),
  owner: z.string().min(1),
  costCenter: z.string().min(1),
  agents: z.array(AgentRequestSchema).min(1),
  tasks: z.array(TaskRequestSchema).min(1),
  trials: z.int().positive(),
  snapshots: z.record(z.string(), SnapshotRequestSchema),
  limits: SweepLimitsSchema,
  promptSuffix: z.string(),
  cleanupMode: z.enum(CLEANUP_MODES),
  collectOutput: z.boolean(),
  privilege: z.enum(['upstream', 'restricted']),
  network: z.enum(['open', 'sealed']),
  /** Folder of its runs in the run tree, for hosts whose tree holds more than one sweep; `.` when the tree is its own. */
  treeDir: z
    .string()
    .regex(/^(?:\.|[A-Za-z0-9_-]{1,64})$/u)
    .default('.'),
  /** Skip units whose finished run has the same task revision. */
  autoResume: z.boolean(),
  /** Version and source hash of Exam Hall itself. */
  code: z.strictObject({ version: z.string(), sha256: z.string() }),
});
export type SweepRequest = z.infer<typeof SweepRequestSchema>;
export type AgentRequest = SweepRequest['agents'][number];
export type SnapshotRequest = SweepRequest['snapshots'][string];
