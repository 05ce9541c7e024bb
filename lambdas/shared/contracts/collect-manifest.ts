import * as z from 'zod';
import { GUEST_CONTRACT_VERSION, type CollectLimits, type CollectManifest } from '#contracts/guest';

/** The most that one collect takes of a sandbox; the rest is named and left. */
export const COLLECT_LIMITS: CollectLimits = { maxFiles: 20_000, maxFileMiB: 1024, maxTotalMiB: 8192 };

/** What became of one path, as the guest tells it. */
export const CollectEntrySchema = z.object({
  path: z.string(),
  kind: z.enum(['file', 'link', 'other']),
  sizeBytes: z.number().nonnegative(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/u)
    .nullable(),
  key: z.string().nullable(),
  target: z.string().nullable(),
  skipped: z
    .enum(['too-large', 'too-many', 'total-too-large', 'not-regular', 'unreadable', 'changed-while-read'])
    .nullable(),
});

/** A collect's report as it is read: the guest wrote it. */
export const CollectManifestSchema = z.object({
  version: z.literal(GUEST_CONTRACT_VERSION),
  jobId: z.string(),
  roots: z.array(z.object({ keyPrefix: z.string(), missing: z.boolean(), entries: z.array(CollectEntrySchema) })),
}) satisfies z.ZodType<CollectManifest>;
