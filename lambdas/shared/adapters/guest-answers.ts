import * as z from 'zod';
import {
  GUEST_CONTRACT_VERSION,
  type CollectLimits,
  type FirstLine,
  type GuestHello,
  type GuestReply,
  type JobResult,
  type JobStatus,
  type RpcResult,
  type StopReport,
} from '#contracts/guest';
import { CollectEntrySchema } from '#contracts/collect-manifest';
import type { FolderListing, ListedEntry, ListingRequest } from '#contracts/guest-listing';

/**
 * What a guest may answer. Whoever has become root on its machine answers what they like, so nothing is taken for what the
 * contract says before it was looked at; keys that it does not name are left out.
 */

/** Refused entries that a walk tells of beyond the files, and the one that says it stopped. */
const SPARE_ENTRIES = 10_001;
const MIB = 1024 * 1024;
const MESSAGE_CHARACTERS = 4_000;
const REPLY_MESSAGE_CHARACTERS = 2_000;
const NAME_CHARACTERS = 100;
const NAMED_SURVIVORS = 20;
const LINE_CHARACTERS = 4_096;
const TAIL_CHARACTERS = 2_000;
const KEY_BYTES = 32;
/** More than any system has. */
const MOST_PROCESSES = 2 ** 31;
/** A clock that was set while the job ran may make it look decades long. */
const MOST_SECONDS = 1e10;

const cutText = (characters: number) => z.string().transform((text) => text.slice(0, characters));

const countSchema = z.int().min(0);
const processesSchema = z.int().min(0).max(MOST_PROCESSES);
const timeSchema = z.iso.datetime().max(40);

export const GuestReplySchema: z.ZodType<GuestReply> = z.discriminatedUnion('ok', [
  z.object({ requestId: z.string(), ok: z.literal(true), value: z.unknown() }),
  z.object({
    requestId: z.string(),
    ok: z.literal(false),
    error: cutText(NAME_CHARACTERS),
    message: cutText(REPLY_MESSAGE_CHARACTERS),
  }),
]);

/** Of a verb that only is done. */
export const NothingSchema: z.ZodType<null> = z.null();

export const StopReportSchema: z.ZodType<StopReport> = z.object({
  confirmedDead: z.boolean(),
  survivors: processesSchema,
  left: z.array(cutText(NAME_CHARACTERS)).max(NAMED_SURVIVORS).optional(),
  unsure: cutText(REPLY_MESSAGE_CHARACTERS).optional(),
});

export const jobResultSchema = (jobId: string): z.ZodType<JobResult> =>
  z.object({
    version: z.literal(GUEST_CONTRACT_VERSION),
    jobId: z.literal(jobId),
    end: z.enum(['exited', 'wall-limit', 'stopped', 'spawn-failed', 'runner-lost']),
    // Windows has unsigned ones of 32 bits.
    exitCode: z
      .int()
      .min(-(2 ** 31))
      .max(2 ** 32 - 1)
      .nullable(),
    signal: z.string().max(NAME_CHARACTERS).nullable(),
    startedAt: timeSchema,
    endedAt: timeSchema,
    durationSeconds: z.number().min(0).max(MOST_SECONDS),
    stdoutBytes: countSchema,
    stderrBytes: countSchema,
    stdoutTruncated: z.boolean(),
    stderrTruncated: z.boolean(),
    confirmedDead: z.boolean(),
    survivors: processesSchema,
    message: cutText(MESSAGE_CHARACTERS).nullable(),
    transferredFiles: countSchema,
    transferredBytes: countSchema,
    sha256OfManifest: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable(),
  });

/** Of the job that was asked for, and no other. */
export const jobStatusSchema = (jobId: string): z.ZodType<JobStatus> =>
  z.discriminatedUnion('state', [
    z.object({ state: z.literal('unknown') }),
    z.object({ state: z.literal('running'), startedAt: timeSchema }),
    z.object({ state: z.literal('finished'), result: jobResultSchema(jobId) }),
  ]);

export const firstLineSchema = (jobId: string): z.ZodType<FirstLine> =>
  z.object({
    line: z.string().max(LINE_CHARACTERS).nullable(),
    stderr: z.string().max(TAIL_CHARACTERS),
    status: jobStatusSchema(jobId),
  });

/** A key as the runner makes them of any path: no name in it leads elsewhere. */
const KEY_NAME = String.raw`(?!\.{1,2}(?:/|$))[A-Za-z0-9._%-]{1,200}`;
const RelativeKeySchema = z
  .string()
  .max(640)
  .regex(new RegExp(`^${KEY_NAME}(?:/${KEY_NAME})*$`, 'u'));

const ListedEntrySchema: z.ZodType<ListedEntry> = z.union([
  z.object({ settled: CollectEntrySchema.extend({ key: z.null() }) }),
  z.object({
    file: z.object({
      path: z.string(),
      absolute: z.string().nullable(),
      key: RelativeKeySchema,
      sizeBytes: countSchema,
    }),
  }),
]);

/** Of the folders that were asked for, in their order, and no more of them than the limits allow. */
export const folderListingSchema = ({ roots, limits }: ListingRequest): z.ZodType<FolderListing> =>
  z
    .object({
      roots: z.array(
        z.object({
          keyPrefix: z.string(),
          missing: z.boolean(),
          entries: z.array(ListedEntrySchema).max(limits.maxFiles + SPARE_ENTRIES),
        }),
      ),
    })
    .refine(
      (listing) =>
        roots.map(({ keyPrefix }) => keyPrefix).join('\n') ===
        listing.roots.map(({ keyPrefix }) => keyPrefix).join('\n'),
      'these are not the folders that were asked for',
    )
    .refine((listing) => fits(listing, limits), 'there is more than the limits allow');

function fits({ roots }: FolderListing, { maxFiles, maxFileMiB, maxTotalMiB }: CollectLimits): boolean {
  const sizes = roots.flatMap(({ entries }) =>
    entries.flatMap((entry) => ('file' in entry ? entry.file.sizeBytes : [])),
  );
  const totalBytes = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.length <= maxFiles && sizes.every((size) => size <= maxFileMiB * MIB) && totalBytes <= maxTotalMiB * MIB;
}

const RpcResultSchema: z.ZodType<RpcResult> = z.discriminatedUnion('success', [
  z.looseObject({ success: z.literal(true) }),
  z.looseObject({ success: z.literal(false), error: cutText(MESSAGE_CHARACTERS) }),
]);

/** One for each call. Counted first: millions of wrong ones would be millions of issues. */
export const rpcResultsSchema = (calls: number): z.ZodType<readonly RpcResult[]> =>
  z
    .custom<unknown[]>(
      (value) => Array.isArray(value) && value.length === calls,
      `there are not ${String(calls)} results`,
    )
    .pipe(z.array(RpcResultSchema));

const isKey = (text: string): boolean => {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === KEY_BYTES && bytes.toString('base64url') === text;
};

const PublicKeySchema = z.string().refine(isKey, `a key has ${String(KEY_BYTES)} bytes in base64url`);

/** A hello, or of another version's only which that is. */
export const GuestHelloSchema: z.ZodType<GuestHello | { readonly version: number }> = z.union([
  z.object({
    version: z.literal(GUEST_CONTRACT_VERSION),
    publicKey: PublicKeySchema,
    state: z.object({
      hasConsoleSession: z.boolean().nullable(),
      answersCua: z.boolean(),
      isScreenBlack: z.boolean().nullable(),
      // A runner of an older image tells neither.
      screenSize: z.string().max(20).nullable().default(null),
      screenNote: z.string().max(1000).nullable().default(null),
    }),
  }),
  z.object({ version: z.int().refine((version) => version !== GUEST_CONTRACT_VERSION) }),
]);

/** What a guest has said as JSON, or why that is none of what was asked for. */
export function parseGuestJson<T>(
  schema: z.ZodType<T>,
  text: string,
): { readonly answer: T } | { readonly why: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { why: 'it is not JSON' };
  }
  return parseGuestValue(schema, value);
}

/** As `parseGuestJson`, of what is JSON already. */
export function parseGuestValue<T>(
  schema: z.ZodType<T>,
  value: unknown,
): { readonly answer: T } | { readonly why: string } {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { answer: parsed.data };
  const [first] = parsed.error.issues;
  return {
    why: first === undefined ? 'it is not as agreed' : `${first.path.join('.') || 'the whole'}: ${first.message}`,
  };
}
