import { createHash } from 'node:crypto';
import {
  PublishedReferencesSchema,
  PublishedSolutionsSchema,
  PublishedTaskSchema,
  solutionKeyPrefix,
  solutionsKey,
  taskKeyPrefix,
  taskManifestKey,
  type PublishedReferences,
  type PublishedSolutions,
  type PublishedTask,
} from '#core/catalog';
import { revisionText, type RevisionRecord } from '#core/task-revision';
import type { ArtifactStore, Bucket } from '#ports/artifact-store';
import { readTaskSource, variantFiles, type TaskSource, type TaskSourceDeps } from './task-source.ts';
import { putManifest, uploadAll, uploadOf, uploadOfBundle, type Upload } from './uploads.ts';

export interface PublishTaskDeps extends TaskSourceDeps {
  readonly store: ArtifactStore;
}

interface VariantUploads {
  readonly input: readonly Upload[];
  readonly software: readonly Upload[];
  readonly reference: readonly Upload[];
  readonly solution: readonly Upload[];
}

/**
 * Compiles, loads and uploads a task: what an agent may see into bucket `tasks`, solutions beside it below `solutions/`,
 * references into `references`, each under its revision. Manifests go last, so a broken publish is no publish; publishing the
 * same folder again uploads nothing and returns the same.
 */
export async function publishTask(folder: string, deps: PublishTaskDeps): Promise<PublishedTask> {
  const source = await readTaskSource(folder, deps);
  const revision = revisionOf(source);
  const keyPrefix = taskKeyPrefix(source.taskId, revision);
  const module = await uploadOfBundle('tasks', `${keyPrefix}task.mjs`, source.module, 'task.mjs');
  const solve =
    source.solution === null
      ? null
      : await uploadOfBundle(
          'tasks',
          `${solutionKeyPrefix(source.taskId, revision)}solve.mjs`,
          source.solution,
          'solve.mjs',
        );
  const services = await Promise.all(
    Object.entries(source.services).map(
      async ([name, code]) =>
        [name, await uploadOfBundle('tasks', `${keyPrefix}services/${name}.mjs`, code, `${name}.mjs`)] as const,
    ),
  );
  const uploads = new Map(source.variants.map(({ name }) => [name, uploadsOf(source, revision, name, solve)]));

  const published = describeTask(source, { revision, module, services: new Map(services), uploads });
  const references = describeReferences(source, { revision, uploads });

  const all = [...uploads.values()].flatMap((own) => [
    ...own.input,
    ...own.software,
    ...own.reference,
    ...own.solution,
  ]);
  await uploadAll(deps.store, distinct([module, ...services.map(([, upload]) => upload), ...all]));
  await putManifest(deps.store, 'references', taskManifestKey(published), references);
  await putManifest(deps.store, 'tasks', solutionsKey(published), describeSolutions(source, { revision, uploads }));
  await putManifest(deps.store, 'tasks', taskManifestKey(published), published);
  return published;
}

type UploadsByVariant = ReadonlyMap<string, VariantUploads>;

function describeTask(
  source: TaskSource,
  {
    revision,
    module,
    services,
    uploads,
  }: {
    readonly revision: string;
    readonly module: Upload;
    readonly services: ReadonlyMap<string, Upload>;
    readonly uploads: UploadsByVariant;
  },
): PublishedTask {
  return PublishedTaskSchema.parse({
    version: 1,
    taskId: source.taskId,
    revision,
    card: source.card,
    module: module.file,
    hasStart: source.module.exports.includes('start'),
    services: Object.fromEntries([...services].map(([name, { file }]) => [name, file])),
    variants: source.variants.map((variant, index) => {
      const own = uploads.get(variant.name);
      return {
        ...variant,
        index,
        input: filesOf(own?.input),
        software: filesOf(own?.software),
        hasReference: (own?.reference ?? []).length > 0,
        hasSolution: (own?.solution ?? []).length > 0,
      };
    }),
  } satisfies PublishedTask);
}

function describeReferences(
  source: TaskSource,
  { revision, uploads }: { readonly revision: string; readonly uploads: UploadsByVariant },
): PublishedReferences {
  return PublishedReferencesSchema.parse({
    version: 1,
    taskId: source.taskId,
    revision,
    variants: source.variants.map(({ name }) => ({
      name,
      reference: filesOf(uploads.get(name)?.reference),
    })),
  } satisfies PublishedReferences);
}

function describeSolutions(
  source: TaskSource,
  { revision, uploads }: { readonly revision: string; readonly uploads: UploadsByVariant },
): PublishedSolutions {
  return PublishedSolutionsSchema.parse({
    version: 1,
    taskId: source.taskId,
    revision,
    variants: source.variants.map(({ name }) => ({ name, solution: filesOf(uploads.get(name)?.solution) })),
  } satisfies PublishedSolutions);
}

function uploadsOf(source: TaskSource, revision: string, variantName: string, solve: Upload | null): VariantUploads {
  const filed = (bucket: Bucket, kind: 'input' | 'software' | 'reference' | 'solution'): Upload[] =>
    variantFiles(source, kind, variantName).map(({ path, file }) =>
      uploadOf(bucket, `${prefixOf(kind)(source.taskId, revision)}${variantName}/${kind}/`, file, path),
    );
  const solution = filed('tasks', 'solution');
  return {
    input: filed('tasks', 'input'),
    software: filed('tasks', 'software'),
    reference: filed('references', 'reference'),
    solution: solution.length === 0 && solve !== null ? [solve] : solution,
  };
}

function prefixOf(kind: string): typeof taskKeyPrefix {
  return kind === 'solution' ? solutionKeyPrefix : taskKeyPrefix;
}

/** Of every file of the folder, caches aside, and of the compiled code, which also depends on the grading library. */
function revisionOf(source: TaskSource): string {
  const records = source.entries.flatMap((entry): RevisionRecord[] => {
    if (entry.kind === 'other') return [];
    const value = entry.kind === 'symlink' ? entry.target : entry.sha256;
    return [{ path: entry.path, kind: entry.kind, value }];
  });
  records.push({ path: 'task.mjs', kind: 'module', value: source.module.sha256 });
  for (const [name, code] of Object.entries(source.services)) {
    records.push({ path: `services/${name}.mjs`, kind: 'module', value: code.sha256 });
  }
  if (source.solution !== null) records.push({ path: 'solve.mjs', kind: 'module', value: source.solution.sha256 });
  return `sha256:${createHash('sha256').update(revisionText(records)).digest('hex')}`;
}

function filesOf(uploads: readonly Upload[] = []): PublishedTask['variants'][number]['input'] {
  return uploads.map(({ file }) => file);
}

function distinct(uploads: readonly Upload[]): readonly Upload[] {
  return [...new Map(uploads.map((upload) => [`${upload.bucket}/${upload.file.key}`, upload])).values()];
}
