import * as z from 'zod';

/** Sandboxes as the API tells of them: what the providers list, joined with what is stored of it. */

const when = z.iso.datetime();

/** Something that an attempt made, and how it left our care. */
export const TeardownEntrySchema = z.strictObject({
  kind: z.string(),
  resourceId: z.string(),
  /** Since when `end` holds; null while it is there. */
  goneAt: when.nullable(),
  end: z.enum(['gone', 'stopped', 'kept', 'detached']).nullable(),
  /** Why it was left; null for what is gone. */
  why: z.string().nullable(),
});

export const SandboxesQuerySchema = z.strictObject({
  /** Opaque; from the page before. A page is what a provider gives at once. */
  cursor: z.string().min(1).max(4096).optional(),
});

const SandboxEntrySchema = z.strictObject({
  provider: z.string(),
  /** As the provider knows it; on AWS the id of the instance. */
  sandboxId: z.string(),
  /** `unknown`: its provider could not say. */
  state: z.enum(['pending', 'ready', 'stopped', 'gone', 'unknown']),
  /**
   * `attempt`: an open attempt uses it; `kept`: its attempt left it on purpose; `detached`: its attempt left it, and it is
   * ours no more; `orphan`: nobody wants it.
   */
  owner: z.enum(['attempt', 'kept', 'detached', 'orphan']),
  /** Of its tags; null when they name none. */
  attemptId: z.string().nullable(),
  /** Null when the attempt of its tags is not known here. */
  unitId: z.string().nullable(),
  sweepId: z.string().nullable(),
  os: z.enum(['linux', 'windows']).nullable(),
  launchedAt: when.nullable(),
  ageSeconds: z.int().nullable(),
  expiresAt: when.nullable(),
  /** Since when it was seen without an owner. */
  orphanSince: when.nullable(),
  /** What the reaper does at its next look, if nothing changes until then, and why. */
  reaper: z.enum(['keep', 'note', 'reap']),
  why: z.string(),
});
export type SandboxEntry = z.infer<typeof SandboxEntrySchema>;

export const SandboxPageSchema = z.strictObject({ items: z.array(SandboxEntrySchema), cursor: z.string().nullable() });

export const ReapBodySchema = z.strictObject({
  /** Only say what would be noted and reaped. */
  dryRun: z.boolean(),
});

export const ReapAnswerSchema = z.strictObject({
  dryRun: z.boolean(),
  /** The reaper was told to look now, and does so within moments; it looks every five minutes anyway. */
  isAsked: z.boolean(),
  /** What it notes or reaps at that look; all others it keeps. */
  items: z.array(SandboxEntrySchema),
  kept: z.int(),
  /** False when there were more sandboxes than one answer looks at; the reaper itself looks at all. */
  isComplete: z.boolean(),
});

export const StopAnswerSchema = z.strictObject({
  /** Every sweep that was open. */
  sweeps: z.array(
    z.strictObject({
      sweepId: z.string(),
      name: z.string(),
      /** `ended`: it came to its end meanwhile. */
      result: z.enum(['cancelled', 'already', 'ended', 'failed']),
      /** Why it could not be cancelled; null otherwise. */
      error: z.string().nullable(),
    }),
  ),
  /** The reaper was told to look now. */
  isReaperAsked: z.boolean(),
});
