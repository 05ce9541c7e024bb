import type * as z from 'zod';
import {
  PublishedAgentSchema,
  PublishedReferencesSchema,
  PublishedSolutionsSchema,
  PublishedTaskSchema,
  solutionsKey,
  taskManifestKey,
  type PublishedAgent,
  type PublishedFile,
  type PublishedTask,
  type PublishedVariant,
} from '#core/catalog';
import { ExamHallError, isErrorNamed, type ErrorName } from '#core/errors';
import type { AttemptRow } from '#core/rows';
import {
  ANY_SNAPSHOT,
  SweepRequestSchema,
  type AgentRequest,
  type SnapshotRequest,
  type SweepRequest,
} from '#contracts/sweep-request';
import type { ArtifactStore, ObjectRef } from '#ports/artifact-store';

/** Parsed objects of a store that never change once written: requests of a run, and manifests, whose keys name their content. */
const parsedByStore = new WeakMap<ArtifactStore, Map<string, unknown>>();
const PARSED_KEPT = 256;

async function readJson<T>(
  artifacts: ArtifactStore,
  ref: ObjectRef,
  schema: z.ZodType<T>,
  missing: ErrorName,
): Promise<T> {
  const parsed = parsedByStore.get(artifacts) ?? new Map<string, unknown>();
  parsedByStore.set(artifacts, parsed);
  const name = `${ref.bucket}/${ref.key}`;
  const known = parsed.get(name);
  // The schema is a function of the key, so what is kept under a key is of its type.
  if (known !== undefined) return known as T;
  const value = await readFresh(artifacts, ref, schema, missing);
  const oldest = parsed.keys().next();
  if (parsed.size >= PARSED_KEPT && oldest.done !== true) parsed.delete(oldest.value);
  parsed.set(name, value);
  return value;
}

async function readFresh<T>(
  artifacts: ArtifactStore,
  ref: ObjectRef,
  schema: z.ZodType<T>,
  missing: ErrorName,
): Promise<T> {
  let text: string;
  try {
    text = new TextDecoder().decode(await artifacts.get(ref));
  } catch (error) {
    if (!isErrorNamed(error, 'ObjectNotFoundError')) throw error;
    const message = `${ref.bucket}/${ref.key} is missing; publish it before starting a sweep`;
    throw new ExamHallError(missing, message, {}, error);
  }
  const parsed = schema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new ExamHallError(missing, `${ref.bucket}/${ref.key} does not fit its schema`, { issues: parsed.error.issues });
}

export async function readRequest(artifacts: ArtifactStore, key: string): Promise<SweepRequest> {
  return await readJson(artifacts, { bucket: 'artifacts', key }, SweepRequestSchema, 'InvalidRequestError');
}

export async function readTask(artifacts: ArtifactStore, manifestKey: string): Promise<PublishedTask> {
  return await readJson(artifacts, { bucket: 'tasks', key: manifestKey }, PublishedTaskSchema, 'UnknownTaskError');
}

export async function readAgent(artifacts: ArtifactStore, manifestKey: string): Promise<PublishedAgent> {
  return await readJson(artifacts, { bucket: 'tasks', key: manifestKey }, PublishedAgentSchema, 'UnknownAgentError');
}

/** What a variant is graded against. @throws ReferenceMissingError. */
export async function readReference(
  artifacts: ArtifactStore,
  task: PublishedTask,
  variantName: string,
): Promise<readonly PublishedFile[]> {
  const ref = { bucket: 'references', key: taskManifestKey(task) } as const;
  const manifest = await readJson(artifacts, ref, PublishedReferencesSchema, 'ReferenceMissingError');
  const variant = manifest.variants.find(({ name }) => name === variantName);
  if (variant !== undefined) return variant.reference;
  throw new ExamHallError('ReferenceMissingError', `${task.taskId} has no published reference for ${variantName}`);
}

/** What solves a variant; empty when nothing does. @throws TaskSetupError. */
export async function readSolution(
  artifacts: ArtifactStore,
  task: PublishedTask,
  variantName: string,
): Promise<readonly PublishedFile[]> {
  const ref = { bucket: 'tasks', key: solutionsKey(task) } as const;
  const manifest = await readJson(artifacts, ref, PublishedSolutionsSchema, 'TaskSetupError');
  return manifest.variants.find(({ name }) => name === variantName)?.solution ?? [];
}

/** What an attempt was asked to do, as its sweep pinned it. */
export interface AttemptInputs {
  readonly request: SweepRequest;
  readonly agentRequest: AgentRequest;
  readonly task: PublishedTask;
  readonly variant: PublishedVariant;
}

export async function readAttemptInputs(artifacts: ArtifactStore, attempt: AttemptRow): Promise<AttemptInputs> {
  const request = await readRequest(artifacts, attempt.requestKey);
  const agentRequest = request.agents.find((agent) => agent.id === attempt.agentId);
  const taskRequest = request.tasks.find((task) => task.path === attempt.taskPath);
  if (agentRequest === undefined || taskRequest === undefined) {
    throw new ExamHallError(
      'InvalidRequestError',
      `${attempt.attemptId} names an agent or task its sweep does not have`,
    );
  }
  const task = await readTask(artifacts, taskRequest.manifestKey);
  return { request, agentRequest, task, variant: variantOf(task, attempt.variant) };
}

/** @throws UnknownVariantError. */
export function variantOf(task: PublishedTask, index: number): PublishedVariant {
  const variant = task.variants[index];
  if (variant !== undefined) return variant;
  throw new ExamHallError(
    'UnknownVariantError',
    `${task.taskId} has no variant ${String(index)}; allowed: 0 to ${String(task.variants.length - 1)}`,
  );
}

/** @throws SandboxRefusedError when the environment has no such snapshot. */
export function snapshotOf(request: SweepRequest, tag: string): SnapshotRequest {
  const { snapshots } = request;
  const snapshot = snapshots[Object.hasOwn(snapshots, tag) ? tag : ANY_SNAPSHOT];
  if (snapshot !== undefined) return snapshot;
  throw new ExamHallError(
    'SandboxRefusedError',
    `the environment has no snapshot ${JSON.stringify(tag)}; it has ${Object.keys(request.snapshots).join(', ')}`,
  );
}
