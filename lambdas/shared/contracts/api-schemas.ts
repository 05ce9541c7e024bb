import * as z from 'zod';
import { CLEANUP_MODES } from '#core/cleanup-mode';
import { RevisionSchema, TaskIdSchema } from '#core/catalog';
import { LEDGER_CLASSES, NOT_RUN_REASONS } from '#core/denominators';
import { COST_PARTS } from '#core/record';
import { TeardownEntrySchema } from '#contracts/api-sandboxes';
import { day, when } from '#contracts/api-times';
import { SnapshotRequestSchema } from '#contracts/sweep-request';

/** What crosses the API. Names are those of the sweep request; times are ISO-8601 in UTC. */

const MAX_NAME_LENGTH = 128;
const MAX_CURSOR_LENGTH = 4096;
/** One line of printable text. */
const printable = z.string().regex(/^[^\u0000-\u001f\u007f-\u009f]*$/u, 'must be one line of printable text');
const name = printable.min(1).max(MAX_NAME_LENGTH);

/** RFC 9457. `code` is the name of an error of ours; `problems` lists what is wrong with the request, all of it at once. */
export const ProblemSchema = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string(),
  /** Id of the request, for the logs. */
  instance: z.string(),
  code: z.string(),
  problems: z.array(z.strictObject({ path: z.string(), message: z.string() })),
});
export type Problem = z.infer<typeof ProblemSchema>;

/** Of routes that take no query. */
export const NoQuerySchema = z.strictObject({});

export const PageQuerySchema = z.strictObject({
  /** Opaque; from the page before. */
  cursor: z.string().min(1).max(MAX_CURSOR_LENGTH).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

function pageOf<T extends z.ZodType>(item: T) {
  return z.strictObject({ items: z.array(item), cursor: z.string().nullable() });
}

const AgentWishSchema = z.strictObject({
  /** Output folder name; `agentId` unless told. */
  id: name.optional(),
  agentId: name,
  model: name.nullable().default(null),
  config: z.record(z.string().max(128), z.unknown()).default({}),
  /** The newest published one unless told. */
  revision: RevisionSchema.optional(),
});

const TaskWishSchema = z.strictObject({
  path: TaskIdSchema,
  /** All of them unless told. */
  variants: z.array(z.int().nonnegative().max(9999)).min(1).max(1000).optional(),
  revision: RevisionSchema.optional(),
});

export const StartSweepBodySchema = z.strictObject({
  name: printable.min(1).max(64),
  costCenter: printable.min(1).max(63),
  agents: z.array(AgentWishSchema).min(1).max(100),
  tasks: z.array(TaskWishSchema).min(1).max(2000),
  trials: z.int().positive().max(100).default(1),
  /** By snapshot tag of the task cards; `*` serves every tag. */
  snapshots: z.record(z.string().max(128), SnapshotRequestSchema),
  limits: z.strictObject({
    concurrency: z.int().positive(),
    maxAttempts: z.int().min(1).max(3).default(2),
    wallTimeSeconds: z.int().positive().nullable().default(null),
    deadlineSeconds: z
      .int()
      .positive()
      .max(30 * 24 * 3600)
      .default(14 * 24 * 3600),
    budgetUsd: z.number().nullable().default(null),
    agentConcurrency: z.record(z.string().max(128), z.int().positive()).default({}),
  }),
  promptSuffix: z.string().max(20_000).default(''),
  cleanupMode: z.enum(CLEANUP_MODES).default('delete'),
  collectOutput: z.boolean().default(true),
  privilege: z.enum(['upstream', 'restricted']).default('restricted'),
  network: z.enum(['open', 'sealed']).default('open'),
  /** Plan, refuse and count as for a start, and start nothing. */
  dryRun: z.boolean().default(false),
});
export type StartSweepBody = z.infer<typeof StartSweepBodySchema>;

export const StartedSweepSchema = z.strictObject({
  /** Null for a dry run. */
  sweepId: z.string().nullable(),
  dryRun: z.boolean(),
  plannedUnits: z.int(),
  agents: z.array(z.strictObject({ id: z.string(), agentId: z.string(), revision: RevisionSchema })),
  tasks: z.array(z.strictObject({ path: z.string(), revision: RevisionSchema, variants: z.array(z.int()) })),
  /** The most this sweep may cost by the price sheet; null where it does not say. Callers without costs get null too. */
  largestCostUsd: z.number().nullable(),
  warnings: z.array(z.string()),
});
export type StartedSweep = z.infer<typeof StartedSweepSchema>;

export const SweepSummarySchema = z.strictObject({
  sweepId: z.string(),
  name: z.string(),
  owner: z.string(),
  costCenter: z.string(),
  /** `accepted` until its units are planned. */
  status: z.enum(['accepted', 'running', 'closed', 'failed']),
  paused: z.boolean(),
  cancelled: z.boolean(),
  createdAt: when,
  closedAt: when.nullable(),
  deadlineAt: when,
  concurrency: z.int(),
  plannedUnits: z.int().nullable(),
  /** Null for callers who may neither see costs nor set a budget. */
  budgetUsd: z.number().nullable(),
  /** Null for callers who may not see costs. */
  spentUsd: z.number().nullable(),
  /** Why it failed as a whole. */
  error: z.string().nullable(),
});
export type SweepSummary = z.infer<typeof SweepSummarySchema>;

export const SweepDetailSchema = z.strictObject({
  ...SweepSummarySchema.shape,
  ledger: z
    .strictObject({
      planned: z.int(),
      counts: z.record(z.enum(LEDGER_CLASSES), z.int()),
      notRun: z.record(z.enum(NOT_RUN_REASONS), z.int()),
    })
    .nullable(),
  /** Units that hold a slot now. */
  runningUnits: z.int(),
  /** Over scored and forfeited units; lost ones are excluded. */
  meanScore: z.number().nullable(),
  agents: z.array(z.strictObject({ id: z.string(), agentId: z.string(), model: z.string().nullable() })),
  tasks: z.array(z.strictObject({ path: z.string(), revision: z.string() })),
  /** Signed for a few minutes; null until there is a report. */
  reportUrl: z.string().nullable(),
});
export type SweepDetail = z.infer<typeof SweepDetailSchema>;

export const UnitSummarySchema = z.strictObject({
  unitId: z.string(),
  sweepId: z.string(),
  agentId: z.string(),
  model: z.string().nullable(),
  taskPath: z.string(),
  variant: z.int(),
  trial: z.int(),
  class: z.enum(LEDGER_CLASSES),
  notRunReason: z.enum(NOT_RUN_REASONS).nullable(),
  status: z.string(),
  score: z.number().nullable(),
  attempts: z.int(),
  closedAt: when.nullable(),
});
export type UnitSummary = z.infer<typeof UnitSummarySchema>;

export const UnitsQuerySchema = z.strictObject({
  ...PageQuerySchema.shape,
  class: z.enum(LEDGER_CLASSES).optional(),
  agentId: name.optional(),
  taskPath: name.optional(),
});

export const UnitQuerySchema = z.strictObject({
  /** Only this attempt, by its number. */
  attempt: z.coerce.number().int().min(1).max(999_999).optional(),
  /** More files of that attempt: its `filesCursor` from the page before. */
  cursor: z.string().min(1).max(MAX_CURSOR_LENGTH).optional(),
  /** Files of each attempt. */
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});

const FileLinkSchema = z.strictObject({ path: z.string(), sizeBytes: z.int(), sha256: z.string(), url: z.string() });

const AttemptDetailSchema = z.strictObject({
  attemptId: z.string(),
  grantedAt: when,
  closedAt: when.nullable(),
  /** The last stage that began, while the attempt is open. */
  stage: z.string().nullable(),
  outcome: z.string().nullable(),
  blame: z.string().nullable(),
  signatureId: z.string().nullable(),
  error: z.string().nullable(),
  sandboxId: z.string().nullable(),
  /** What it made, and when each was seen gone. */
  teardown: z.array(TeardownEntrySchema),
  grades: z.array(
    z.strictObject({
      number: z.int(),
      kind: z.enum(['graded', 'ungraded']),
      score: z.number().nullable(),
      reason: z.string().nullable(),
    }),
  ),
  runDir: z.string().nullable(),
  /** The record, each file under a link of a few minutes, without what the caller may not see; of an open attempt its events. */
  files: z.array(FileLinkSchema),
  /** Continues `files`, together with `attempt`; null when these are all. */
  filesCursor: z.string().nullable(),
});

/** `start`: nobody has asked for a slot yet. The others are what a machine waits for, in the order it does. */
const WAIT_KINDS = ['start', 'admission', 'sandbox', 'job', 'grade', 'teardown', 'stage'] as const;

export const UnitDetailSchema = z.strictObject({
  ...UnitSummarySchema.shape,
  winningAttemptId: z.string().nullable(),
  attemptList: z.array(AttemptDetailSchema),
  /** What an open unit waits for; null when it is closed. */
  waitsFor: z
    .strictObject({ what: z.enum(WAIT_KINDS), since: when.nullable(), until: when.nullable(), why: z.string() })
    .nullable(),
  /** How long the links hold. */
  linksExpireAt: when,
});
export type UnitDetail = z.infer<typeof UnitDetailSchema>;

export const RegradeSchema = z.strictObject({ unitId: z.string(), attemptId: z.string(), gradeNumber: z.int() });

const PublishedSchema = {
  revision: RevisionSchema,
  publishedAt: when,
  publishedBy: z.string(),
};

export const AgentEntrySchema = z.strictObject({ agentId: z.string(), ...PublishedSchema });
export type AgentEntry = z.infer<typeof AgentEntrySchema>;

export const TaskEntrySchema = z.strictObject({
  taskId: z.string(),
  ...PublishedSchema,
  variants: z.array(z.strictObject({ index: z.int(), name: z.string() })),
  snapshot: z.string().nullable(),
  os: z.string().nullable(),
  network: z.string().nullable(),
});
export type TaskEntry = z.infer<typeof TaskEntrySchema>;

/** What a publisher still has to upload: one form per bucket, and the keys that are missing or differ. */
export const PublishAnswerSchema = z.strictObject({
  id: z.string(),
  revision: RevisionSchema,
  /** True once everything is there and the catalogue names this revision. */
  isPublished: z.boolean(),
  uploads: z.array(
    z.strictObject({
      bucket: z.enum(['tasks', 'references']),
      grant: z.strictObject({ url: z.string(), fields: z.record(z.string(), z.string()), keyPrefix: z.string() }),
      keys: z.array(z.string()),
    }),
  ),
});
export type PublishAnswer = z.infer<typeof PublishAnswerSchema>;

export const COST_GROUPS = ['sweep', 'agent', 'task', 'owner', 'costCenter', 'blame'] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

export const CostsQuerySchema = z.strictObject({
  groupBy: z.enum(COST_GROUPS).default('sweep'),
  /** Days in UTC, both included; the last 30 days unless told, of one sweep those since it was created, and at most 400 days. */
  from: day.optional(),
  to: day.optional(),
  sweepId: name.optional(),
  format: z.enum(['json', 'csv']).default('json'),
});

/** Sums of known parts only; `coverage` is the share of parts that are known, null where no attempt was closed. Unknown is never zero. */
const CostFiguresSchema = {
  attempts: z.int(),
  knownUsd: z.number(),
  partsUsd: z.record(z.enum(COST_PARTS), z.number()),
  observedUsd: z.number(),
  estimatedUsd: z.number(),
  unknownParts: z.int(),
  coverage: z.number().min(0).max(1).nullable(),
};

export const CostsSchema = z.strictObject({
  groupBy: z.enum(COST_GROUPS),
  from: z.iso.date(),
  to: z.iso.date(),
  rows: z.array(z.strictObject({ key: z.string(), ...CostFiguresSchema })),
  total: z.strictObject(CostFiguresSchema),
  /** Dates of the price sheets the estimates come from. */
  priceSheets: z.array(z.string()),
});
export type Costs = z.infer<typeof CostsSchema>;

export const SweepPageSchema = pageOf(SweepSummarySchema);
export const UnitPageSchema = pageOf(UnitSummarySchema);
export const AgentPageSchema = pageOf(AgentEntrySchema);
export const TaskPageSchema = pageOf(TaskEntrySchema);
