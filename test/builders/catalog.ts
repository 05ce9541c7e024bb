import { createHash } from 'node:crypto';
import type { SweepRequest } from '#contracts/sweep-request';
import {
  agentManifestKey,
  PublishedAgentSchema,
  PublishedReferencesSchema,
  PublishedSolutionsSchema,
  solutionKeyPrefix,
  solutionsKey,
  PublishedTaskSchema,
  taskKeyPrefix,
  taskManifestKey,
  type PublishedFile,
  type PublishedTask,
} from '#core/catalog';
import { objectKeys } from '#core/keys';
import type { ArtifactStore, Bucket } from '#ports/artifact-store';

export interface TaskOptions {
  readonly taskId?: string;
  readonly gradingMode?: 'light' | 'same-sandbox';
  readonly hasStart?: boolean;
  readonly hasReference?: boolean;
  readonly services?: readonly string[];
  readonly vm?: Readonly<Record<string, unknown>>;
}

export interface AgentOptions {
  readonly agentId?: string;
  readonly stages?: readonly 'solution'[];
  readonly recordings?: boolean;
  readonly limits?: Readonly<Record<string, number>>;
}

function revisionOf(what: unknown): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(what)).digest('hex')}`;
}

async function putFile(store: ArtifactStore, bucket: Bucket, prefix: string, path: string): Promise<PublishedFile> {
  const key = `${prefix}${path}`;
  const { sha256, sizeBytes } = await store.put({ bucket, key }, `content of ${path}`);
  return { path, key, sha256, sizeBytes, executable: path.endsWith('.mjs') };
}

async function putServices(
  store: ArtifactStore,
  prefix: string,
  names: readonly string[] = [],
): Promise<Record<string, PublishedFile>> {
  const services: Record<string, PublishedFile> = {};
  for (const name of names) services[name] = await putFile(store, 'tasks', prefix, `services/${name}.mjs`);
  return services;
}

/** Publishes a task with two variants, `base` and `other`. */
export async function publishFakeTask(store: ArtifactStore, options: TaskOptions = {}): Promise<PublishedTask> {
  const { taskId = 'demo/copy', gradingMode = 'light', hasStart = false, hasReference = true } = options;
  const revision = revisionOf(options);
  const prefix = taskKeyPrefix(taskId, revision);
  const variants = ['base', 'other'];
  const task = PublishedTaskSchema.parse({
    version: 1,
    taskId,
    revision,
    card: {
      vm: { snapshot: 'cpu-free-ubuntu', timeout: 600, ...options.vm },
      grading: { mode: gradingMode, timeoutSeconds: 60 },
    },
    module: await putFile(store, 'tasks', prefix, 'task.mjs'),
    hasStart,
    services: await putServices(store, prefix, options.services),
    variants: await Promise.all(
      variants.map(async (name, index) => ({
        name,
        index,
        prompt: `Do ${name}.`,
        metadata: {},
        input: [await putFile(store, 'tasks', prefix, `input/${name}/code.txt`)],
        software: [],
        hasReference,
        hasSolution: true,
      })),
    ),
  });
  const references = PublishedReferencesSchema.parse({
    version: 1,
    taskId,
    revision,
    variants: await Promise.all(
      variants.map(async (name) => ({
        name,
        reference: hasReference ? [await putFile(store, 'references', prefix, `reference/${name}/code.txt`)] : [],
      })),
    ),
  });
  await putSolutions(store, task);
  await store.put({ bucket: 'tasks', key: taskManifestKey(task) }, JSON.stringify(task));
  await store.put({ bucket: 'references', key: taskManifestKey(task) }, JSON.stringify(references));
  return task;
}

async function putSolutions(store: ArtifactStore, task: PublishedTask): Promise<void> {
  const { taskId, revision } = task;
  const prefix = solutionKeyPrefix(taskId, revision);
  const solutions = PublishedSolutionsSchema.parse({
    version: 1,
    taskId,
    revision,
    variants: await Promise.all(
      task.variants.map(async ({ name }) => ({
        name,
        solution: [await putFile(store, 'tasks', prefix, `solution/${name}/solve.mjs`)],
      })),
    ),
  });
  await store.put({ bucket: 'tasks', key: solutionsKey(task) }, JSON.stringify(solutions));
}

/** Publishes an agent; returns the key of its manifest. */
export async function publishFakeAgent(store: ArtifactStore, options: AgentOptions = {}): Promise<string> {
  const { agentId = 'scripted', stages = [], recordings = false, limits = {} } = options;
  const revision = revisionOf(options);
  const prefix = `agents/${agentId}/`;
  const manifest = {
    id: agentId,
    version: '1.0.0',
    harness: agentId,
    description: 'A fake.',
    executor: 'sandbox',
    runtime: { node: '20' },
    stages,
    recordings,
    launch: 'launch.ts',
    parser: 'parser.ts',
    limits,
  };
  const agent = PublishedAgentSchema.parse({
    version: 1,
    agentId,
    revision,
    manifest,
    launch: await putFile(store, 'tasks', prefix, 'launch.mjs'),
    parser: await putFile(store, 'tasks', prefix, 'parser.mjs'),
    recordings: recordings ? { 'demo/copy': await putFile(store, 'tasks', prefix, 'demo__copy.json') } : {},
  });
  const key = agentManifestKey(agent);
  await store.put({ bucket: 'tasks', key }, JSON.stringify(agent));
  return key;
}

export type RequestOptions = Partial<Omit<SweepRequest, 'limits'>> & {
  readonly limits?: Partial<SweepRequest['limits']>;
};

/** Publishes one task and one agent, and stores a request for one unit of them unless told otherwise. */
export async function requestSweep(store: ArtifactStore, options: RequestOptions = {}): Promise<SweepRequest> {
  const { limits, ...overrides } = options;
  const request: SweepRequest = {
    version: 1,
    sweepId: 'first',
    run: 1,
    name: 'first',
    owner: 'tester',
    costCenter: 'local',
    agents: [
      {
        id: 'scripted',
        agentId: 'scripted',
        harness: 'scripted',
        model: null,
        manifestKey: await publishFakeAgent(store),
        config: {},
      },
    ],
    tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(await publishFakeTask(store)), variants: [0] }],
    trials: 1,
    snapshots: { '*': { provider: 'noop', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } },
    limits: {
      concurrency: 4,
      maxAttempts: 2,
      wallTimeSeconds: null,
      deadlineAt: '2026-01-03T00:00:00.000Z',
      budgetUsd: null,
      agentConcurrency: {},
      ...limits,
    },
    promptSuffix: '',
    cleanupMode: 'delete',
    collectOutput: true,
    privilege: 'restricted',
    network: 'open',
    treeDir: '.',
    autoResume: true,
    code: { version: '0.1.0', sha256: 'c'.repeat(64) },
    ...overrides,
  };
  const key = objectKeys.request(request.sweepId, request.run);
  await store.put({ bucket: 'artifacts', key }, JSON.stringify(request));
  return request;
}
