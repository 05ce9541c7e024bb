import * as z from 'zod';
import { AgentManifestSchema } from './agent-manifest.ts';

/** `sha256:<64 hex>`; in keys only the hex is used. */
export const RevisionSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256:<64 hex digits>');

/** `<domain>/<task>` in lower case. Part of the ids of units, which are tags of machines. */
export const TaskIdSchema = z
  .string()
  .max(128, 'must be of at most 128 characters')
  .regex(/^[a-z0-9][a-z0-9_-]*\/[a-z0-9][a-z0-9_-]*$/, 'must be <domain>/<task> of a-z 0-9 _ -');

/** What one row of the catalogue has room for. */
export const TASK_LIMITS = { variants: 1_000, variantNameLength: 64 } as const;

/** A file of a published task or agent. `path` is relative to the folder it is staged into. */
export const PublishedFileSchema = z.strictObject({
  path: z.string().min(1),
  key: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  sizeBytes: z.int().nonnegative(),
  executable: z.boolean(),
});

export type PublishedFile = z.infer<typeof PublishedFileSchema>;

/** Name of a service of a task, and of its file in `services/`. */
export const ServiceNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be at most 32 of a-z 0-9 -, a letter first');

/** One variant as an agent may see it; its place in the list is the variant index. */
export const PublishedVariantSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/),
  index: z.int().nonnegative(),
  /** As `load` words it for the canonical data root; a sandbox with another root loads again. */
  prompt: z.string().min(1),
  metadata: z.record(z.string(), z.unknown()),
  input: z.array(PublishedFileSchema),
  software: z.array(PublishedFileSchema),
  hasReference: z.boolean(),
  hasSolution: z.boolean(),
});

export type PublishedVariant = z.infer<typeof PublishedVariantSchema>;

/** What everything that is stored of a task revision says first. */
const revisionFrame = { version: z.literal(1), taskId: TaskIdSchema, revision: RevisionSchema };

/** `manifest.json` of one task revision in bucket `tasks`; says nothing of what references or solutions hold. */
export const PublishedTaskSchema = z.strictObject({
  ...revisionFrame,
  /** The card as it was written; read it with `#core/task-card`. */
  card: z.record(z.string(), z.unknown()),
  /** Compiled `task.ts`, with `load`, `evaluate` and perhaps `start`. */
  module: PublishedFileSchema,
  hasStart: z.boolean(),
  /** Compiled `services/<name>.ts`, by name. */
  services: z.record(ServiceNameSchema, PublishedFileSchema).default({}),
  variants: z.array(PublishedVariantSchema).min(1),
});

export type PublishedTask = z.infer<typeof PublishedTaskSchema>;

/** `manifest.json` of one task revision in bucket `references`. */
export const PublishedReferencesSchema = z.strictObject({
  ...revisionFrame,
  variants: z.array(z.strictObject({ name: z.string().min(1), reference: z.array(PublishedFileSchema) })),
});

export type PublishedReferences = z.infer<typeof PublishedReferencesSchema>;

/** `solutions.json` of one task revision in bucket `tasks`, below `solutions/`, which only the stager may read. */
export const PublishedSolutionsSchema = z.strictObject({
  ...revisionFrame,
  variants: z.array(z.strictObject({ name: z.string().min(1), solution: z.array(PublishedFileSchema) })),
});

export type PublishedSolutions = z.infer<typeof PublishedSolutionsSchema>;

/** `manifest.json` of one published agent, in bucket `tasks`. */
export const PublishedAgentSchema = z.strictObject({
  version: z.literal(1),
  agentId: z.string().min(1),
  /** Over its manifest, its compiled modules and its recordings. */
  revision: RevisionSchema,
  manifest: AgentManifestSchema,
  launch: PublishedFileSchema,
  parser: PublishedFileSchema,
  /** By task id. */
  recordings: z.record(z.string(), PublishedFileSchema),
});

export type PublishedAgent = z.infer<typeof PublishedAgentSchema>;

/** Key prefix of a task revision, in both buckets, with a trailing slash. */
export function taskKeyPrefix(taskId: string, revision: string): string {
  return `tasks/${taskId}/${revisionHex(revision)}/`;
}

/** Below it in bucket `tasks` only the stager of units may read. */
export const SOLUTIONS_PREFIX = 'solutions/';

/** Key prefix of a task revision's solutions in bucket `tasks`, with a trailing slash. */
export function solutionKeyPrefix(taskId: string, revision: string): string {
  return `${SOLUTIONS_PREFIX}${taskId}/${revisionHex(revision)}/`;
}

/** Key of a task revision's `PublishedSolutions` in bucket `tasks`. */
export function solutionsKey(task: { readonly taskId: string; readonly revision: string }): string {
  return `${solutionKeyPrefix(task.taskId, task.revision)}solutions.json`;
}

/** Key prefix of an agent revision in bucket `tasks`, with a trailing slash. */
export function agentKeyPrefix(agentId: string, revision: string): string {
  return `agents/${agentId}/${revisionHex(revision)}/`;
}

/** Where the files of a task revision lie, in both buckets; manifests lie beside it, out of reach of an upload form. */
export function taskFilesPrefix(taskId: string, revision: string): string {
  return `${taskKeyPrefix(taskId, revision)}files/`;
}

/** Where the files of a task revision's solutions lie, in bucket `tasks`. */
export function solutionFilesPrefix(taskId: string, revision: string): string {
  return `${solutionKeyPrefix(taskId, revision)}files/`;
}

/** Where the files of an agent revision lie, in bucket `tasks`. */
export function agentFilesPrefix(agentId: string, revision: string): string {
  return `${agentKeyPrefix(agentId, revision)}files/`;
}

/** Key of a task revision's manifest: `PublishedTask` in bucket `tasks`, `PublishedReferences` in `references`. */
export function taskManifestKey(task: { readonly taskId: string; readonly revision: string }): string {
  return `${taskKeyPrefix(task.taskId, task.revision)}manifest.json`;
}

/** Key of an agent revision's manifest in bucket `tasks`. */
export function agentManifestKey(agent: { readonly agentId: string; readonly revision: string }): string {
  return `${agentKeyPrefix(agent.agentId, agent.revision)}manifest.json`;
}

function revisionHex(revision: string): string {
  return RevisionSchema.parse(revision).slice('sha256:'.length);
}
