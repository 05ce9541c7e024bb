import * as z from 'zod';
import { CostEntrySchema } from '#core/cost-facts';
import { LEDGER_CLASSES, NOT_RUN_REASONS } from '#core/denominators';
import type { Stage } from '#core/errors';
import { UNGRADED_REASONS } from '#core/grade';
import { OUTCOME_KINDS } from '#core/outcome';
import { COST_PARTS, LOCK_KEYS, RECORD_FORMAT_VERSION, type RunRecord } from '#core/record';
import { EVAL_STATUSES, UNIT_STATUSES } from '#core/status';

/** `record.json` is ours alone: an unknown key anywhere is an error. */

const text = z.string().min(1);
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Time = z.iso.datetime();
const Blame = z.enum(['caller', 'task', 'agent', 'platform']);

/** The stage of an error or a timing. */
export const StageSchema = z.enum([
  'request',
  'plan',
  'admit',
  'provision',
  'await',
  'stage',
  'setup',
  'run',
  'collect',
  'grade',
  'release',
  'record',
  'close',
  'report',
  'store',
] satisfies Stage[]);

const Ids = z.strictObject({
  sweepId: text,
  run: z.int().positive(),
  unitId: text,
  attemptId: text,
  runId: text,
  agentId: text,
  model: z.string().nullable(),
  taskPath: text,
  variant: z.int().nonnegative(),
  variantName: text,
  trial: z.int().positive(),
});

const LockEntry = z.strictObject({ value: z.json(), sha256: Sha256.nullable() });
const Lock = z.record(z.enum(LOCK_KEYS), LockEntry);

const Isolation = z.strictObject({
  kind: z.enum(['machine', 'namespaces', 'none']),
  network: z.enum(['own', 'host']),
  reason: z.string().nullable(),
});

const Count = z.int().nonnegative();
const Screen = z.strictObject({
  screenshots: Count,
  final: z.strictObject({ path: text.nullable(), takenAt: Time, problem: z.string().nullable() }).nullable(),
  guiEvents: z
    .strictObject({
      kept: Count,
      implausibleTimes: Count,
      failed: Count,
      malformed: Count,
      truncated: z.boolean(),
    })
    .nullable(),
});

const Outcome = z.strictObject({
  kind: z.enum(OUTCOME_KINDS),
  exitCode: z.int().nullable(),
  durationSeconds: z.number().nonnegative().nullable(),
  message: z.string().nullable(),
});

const Grade = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('graded'),
    score: z.number().min(0).max(1),
    detail: z.record(z.string(), z.unknown()).nullable(),
  }),
  z.strictObject({
    kind: z.literal('ungraded'),
    reason: z.enum(UNGRADED_REASONS),
    blame: Blame,
    message: z.string(),
  }),
]);

const Verdict = z.strictObject({
  signatureId: text,
  blame: Blame,
  retry: z.boolean(),
  countsAsAttempt: z.boolean(),
  ledgerClass: z.enum(LEDGER_CLASSES),
  notRunReason: z.enum(NOT_RUN_REASONS).nullable(),
  unknown: z.boolean(),
  note: z.string(),
});

const RecordError = z.strictObject({
  name: text,
  message: z.string(),
  stage: StageSchema,
  evidence: z.string().nullable(),
});

/** Amounts lie in `cost.json` alone where not everybody who reads the record may see them. */
const CostBasis = z.strictObject({
  part: z.enum(COST_PARTS),
  basis: z.enum(['observed', 'estimated', 'unknown']),
  note: z.string().nullable(),
});

/** `record.json`, format version 1. */
export const RecordSchema = z.strictObject({
  formatVersion: z.literal(RECORD_FORMAT_VERSION),
  ids: Ids,
  lock: Lock,
  isolation: Isolation.nullable(),
  screen: Screen.exactOptional(),
  outcome: Outcome.nullable(),
  grade: Grade.nullable(),
  ledgerClass: z.enum(LEDGER_CLASSES),
  status: z.enum(UNIT_STATUSES),
  evalStatus: z.enum(EVAL_STATUSES),
  error: RecordError.nullable(),
  verdict: Verdict.nullable(),
  rawGraderOutput: z.json(),
  attemptsBefore: z.array(
    z.strictObject({
      attemptId: text,
      runDir: text.nullable(),
      status: z.enum(UNIT_STATUSES),
      verdict: Verdict.nullable(),
    }),
  ),
  leftBehind: z
    .array(
      z.strictObject({
        kind: text,
        resourceId: text,
        end: z.enum(['stopped', 'kept', 'detached']),
        why: z.string(),
      }),
    )
    .min(1)
    .exactOptional(),
  cost: z.union([z.array(CostEntrySchema), z.array(CostBasis)]),
  timings: z.array(
    z.strictObject({
      stage: StageSchema,
      startedAt: Time,
      endedAt: Time.nullable(),
      seconds: z.number().nonnegative().nullable(),
    }),
  ),
  versions: z.record(z.string(), z.string().nullable()),
  unverified: z.array(z.string()),
  files: z.array(z.strictObject({ path: text, sizeBytes: z.int().nonnegative(), sha256: Sha256 })),
  recordSha256: Sha256,
}) satisfies z.ZodType<RunRecord>;
