import * as z from 'zod';
import { CostEntrySchema } from './cost-facts.ts';
import { NOT_RUN_REASONS } from './denominators.ts';

/** Bodies of the unit store's rows. A changed shape needs a new `STORED_FORMAT` and a reader for the old one. */
export const STORED_FORMAT = 1;

export const SweepRowSchema = z.strictObject({
  sweepId: z.string(),
  run: z.int(),
  name: z.string(),
  /** `accepted`: asked for, and not planned yet. `failed`: its machine ended without a report; the ledger holds all the same. */
  status: z.enum(['accepted', 'running', 'closed', 'failed']),
  cancelled: z.boolean(),
  paused: z.boolean(),
  deadlineAt: z.string(),
  concurrency: z.int(),
  agentConcurrency: z.record(z.string(), z.int()),
  budgetUsd: z.number().nullable(),
  /** Costs of closed attempts; the reservation of each held slot counts besides. */
  spentUsd: z.number(),
  /** The most that one attempt of its dearest unit may cost, reserved for each held slot; null when no price says so. */
  largestAttemptUsd: z.number().nullable().default(null),
  plannedUnits: z.int(),
  requestKey: z.string(),
  createdAt: z.string(),
  closedAt: z.string().nullable(),
  executionArn: z.string().nullable(),
  /** Who started it: a user name on one computer, a principal's ARN through the API. */
  owner: z.string().default('unknown'),
  costCenter: z.string().default('unknown'),
  /** Where its runs lie in the run tree; `.` when the tree is its own. */
  treeDir: z.string().default('.'),
  /** Why it failed as a whole. */
  error: z.string().nullable().default(null),
});
export type SweepRow = z.infer<typeof SweepRowSchema>;

/** A seat of licensed software that a sandbox takes; `limit` of them may be taken at once. */
const SeatSchema = z.strictObject({ name: z.string(), limit: z.int().positive() });

export const UNIT_CLASSES = ['open', 'scored', 'forfeited', 'lost', 'task_fault', 'not_run'] as const;

export const UnitRowSchema = z.strictObject({
  sweepId: z.string(),
  unitId: z.string(),
  /** Run of the experiment that last planned it. */
  run: z.int(),
  agentId: z.string(),
  model: z.string().nullable(),
  taskPath: z.string(),
  variant: z.int(),
  variantName: z.string(),
  trial: z.int(),
  unitDir: z.string(),
  taskRevision: z.string(),
  provider: z.string(),
  vCpus: z.int(),
  seat: SeatSchema.nullable().default(null),
  /** From grant to expiry: how long its sandbox may exist. */
  lifeSeconds: z.int(),
  class: z.enum(UNIT_CLASSES),
  notRunReason: z.enum(NOT_RUN_REASONS).nullable(),
  attempts: z.int(),
  winningAttemptId: z.string().nullable(),
  score: z.number().nullable(),
  status: z.string(),
  runDir: z.string().nullable(),
  closedAt: z.string().nullable(),
});
export type UnitRow = z.infer<typeof UnitRowSchema>;

const JsonObjectSchema = z.record(z.string(), z.unknown());

/** An error as a state machine tells it. */
export const StateErrorSchema = z.strictObject({
  name: z.string(),
  message: z.string(),
  state: z.string(),
});
export type StateError = z.infer<typeof StateErrorSchema>;

export const AttemptRowSchema = z.strictObject({
  attemptId: z.string(),
  unitId: z.string(),
  sweepId: z.string(),
  run: z.int(),
  attempt: z.int(),
  agentId: z.string(),
  model: z.string().nullable(),
  taskPath: z.string(),
  variant: z.int(),
  requestKey: z.string(),
  /** Known to the task's hooks and to nobody else; null in rows older than it. */
  secret: z.string().nullable().default(null),
  /** Tries of each guest job of this attempt, by purpose. */
  jobTries: z.record(z.string(), z.int()),
  grantedAt: z.string(),
  expiresAt: z.string(),
  runDir: z.string().nullable(),
  /** Upstream's id of the run, set with `runDir`. */
  runId: z.string().nullable(),
  provider: z.string(),
  /** Sandbox handle as the provider gave it. */
  sandbox: JsonObjectSchema.nullable(),
  /** What its sandbox was asked to let the agent become; null before that, and in rows older than it. */
  privilege: z.enum(['upstream', 'restricted']).nullable().default(null),
  prompt: z.string().nullable(),
  /** Set once the agent's job is known to have started; decides whose fault a lost sandbox is. */
  agentStartedAt: z.string().nullable(),
  outcome: JsonObjectSchema.nullable(),
  agentResult: JsonObjectSchema.nullable(),
  collected: JsonObjectSchema.nullable(),
  grade: JsonObjectSchema.nullable(),
  gradeNumber: z.int(),
  /** Gradings asked for after the attempt was closed, by number. */
  regrades: z.array(z.strictObject({ number: z.int(), by: z.string(), at: z.string() })).default([]),
  /** Number of the grading whose grade stands. */
  standingGrade: z.int().default(0),
  gradeDurationSeconds: z.number().nullable(),
  error: StateErrorSchema.nullable(),
  /** Why the sandbox was lost, in the provider's own words or ours; null when nobody but the sandbox itself says so. */
  evidence: z.string().nullable().default(null),
  /** ISO times by stage name. */
  stageStartedAt: z.record(z.string(), z.string()),
  stageEndedAt: z.record(z.string(), z.string()),
  recordSha256: z.string().nullable(),
  /** What the record has of a screen; null without one. `filmBytes` is the weight of the small pictures for the report. */
  screen: z
    .strictObject({
      screenshots: z.int(),
      hasFinal: z.boolean(),
      guiEvents: z.int().nullable(),
      filmBytes: z.int(),
    })
    .nullable()
    .default(null),
  verdict: JsonObjectSchema.nullable(),
  /** The parts of its cost as recorded; null until then. */
  cost: z.array(CostEntrySchema).nullable().default(null),
  closedAt: z.string().nullable(),
});
export type AttemptRow = z.infer<typeof AttemptRowSchema>;

export const TeardownRowSchema = z.strictObject({
  attemptId: z.string(),
  kind: z.string(),
  resourceId: z.string(),
  provider: z.string(),
  madeAt: z.string(),
  goneAt: z.string().nullable(),
  /** How it left our care: seen gone, or kept on purpose. */
  end: z.enum(['gone', 'stopped', 'kept', 'detached']).nullable(),
  /** Why it was left; null for what is gone. */
  why: z.string().nullable().default(null),
});
export type TeardownRow = z.infer<typeof TeardownRowSchema>;

/** A sandbox that is there and ours no more: nobody ends it, and its provider no longer lists it. */
export const DetachedRowSchema = z.strictObject({
  attemptId: z.string(),
  provider: z.string(),
  sandboxId: z.string(),
  detachedAt: z.string(),
  /** Why it is ours no more; null where its cleanup mode asked for that. */
  why: z.string().nullable().default(null),
});
export type DetachedRow = z.infer<typeof DetachedRowSchema>;

export const AdmitWaitSchema = z.strictObject({
  token: z.string(),
  sweepId: z.string(),
  unitId: z.string(),
  agentId: z.string(),
  attempt: z.int(),
  run: z.int(),
  vCpus: z.int(),
  provider: z.string(),
  seat: SeatSchema.nullable().default(null),
  askedAt: z.string(),
  /** Set in the transaction that grants; the token is sent again until it is taken. */
  grantedAttemptId: z.string().nullable(),
});
export type AdmitWait = z.infer<typeof AdmitWaitSchema>;

/** A callback that waits for a job, a sandbox, a grade or an empty ledger. */
export const WaitRowSchema = z.strictObject({
  token: z.string(),
  sweepId: z.string(),
  unitId: z.string(),
  attemptId: z.string(),
  since: z.string(),
  /** When the state gives up waiting. */
  giveUpAt: z.string(),
  /** Since when the guest has not answered our watcher; null while it does. */
  unreachableSince: z.string().nullable().default(null),
  /** By when an event is to answer it, if that is not lost; null when none is to come. */
  eventBy: z.string().nullable().default(null),
  /** Our watcher looks no earlier than this; null for as soon as it can. */
  lookAt: z.string().nullable().default(null),
});
export type WaitRow = z.infer<typeof WaitRowSchema>;

export const SlotRowSchema = z.strictObject({
  unitId: z.string(),
  attemptId: z.string(),
  sweepId: z.string(),
  agentId: z.string(),
  provider: z.string(),
  vCpus: z.int(),
  /** Name of the seat it takes. */
  seat: z.string().nullable().default(null),
  grantedAt: z.string(),
});
export type SlotRow = z.infer<typeof SlotRowSchema>;

export const SlotCountersSchema = z.strictObject({
  bySweep: z.record(z.string(), z.int()),
  /** Key `<sweepId> <agentId>`. */
  byAgent: z.record(z.string(), z.int()),
  vCpusByProvider: z.record(z.string(), z.int()),
  bySeat: z.record(z.string(), z.int()).default({}),
  /** The sweep that was granted last; the one after it is next among equals. */
  lastSweepId: z.string().nullable().default(null),
  /** By provider, the grants of the minute that began with the first of them. */
  launches: z.record(z.string(), z.strictObject({ windowStart: z.string(), granted: z.int() })).default({}),
});
export type SlotCounters = z.infer<typeof SlotCountersSchema>;

export const EMPTY_COUNTERS: SlotCounters = {
  bySweep: {},
  byAgent: {},
  vCpusByProvider: {},
  bySeat: {},
  lastSweepId: null,
  launches: {},
};

export const SightingSchema = z.strictObject({ sandboxId: z.string(), provider: z.string(), firstSeenAt: z.string() });
export type Sighting = z.infer<typeof SightingSchema>;

export const LaunchRowSchema = z.strictObject({
  attemptId: z.string(),
  launchTry: z.int().positive(),
  pool: z.string(),
  notedAt: z.string(),
  /** The provider said that it launched nothing. */
  refused: z.boolean().default(false),
});
export type LaunchRow = z.infer<typeof LaunchRowSchema>;

export const CoolingPoolRowSchema = z.strictObject({ provider: z.string(), pool: z.string(), until: z.string() });
export type CoolingPoolRow = z.infer<typeof CoolingPoolRowSchema>;

/** `factor` in (0, 1] of the provider's own launches in a minute, or of one pass's where it has no such bound; it ends by itself. */
export const LaunchBrakeRowSchema = z.strictObject({
  provider: z.string(),
  factor: z.number().positive().max(1),
  until: z.string(),
});
export type LaunchBrakeRow = z.infer<typeof LaunchBrakeRowSchema>;

export const CommandRowSchema = z.strictObject({ commandId: z.string(), jobId: z.string(), sentAt: z.string() });
export type CommandRow = z.infer<typeof CommandRowSchema>;

/** An attachment to a machine that was given by its address; the handle is null until the machine is furnished. */
export const StaticAttachmentRowSchema = z.strictObject({
  state: z.enum(['pending', 'ready', 'stopped', 'detached']),
  sandboxId: z.string(),
  attemptId: z.string(),
  endpoint: z.string(),
  expiresAt: z.string(),
  /** Settings of the snapshot that asked for it. */
  knobs: JsonObjectSchema,
  folder: z.string().nullable(),
  sandbox: JsonObjectSchema.nullable(),
});

/** The attachment that has the machine at an address; one whose own row is gone has it no more. */
export const StaticLockRowSchema = z.strictObject({
  endpoint: z.string(),
  sandboxId: z.string(),
  attemptId: z.string(),
  heldAt: z.string(),
});
export type StaticLockRow = z.infer<typeof StaticLockRowSchema>;
