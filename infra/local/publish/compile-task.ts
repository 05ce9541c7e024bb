import { createHash } from 'node:crypto';
import {
  PublishedReferencesSchema,
  PublishedSolutionsSchema,
  PublishedTaskSchema,
  solutionFilesPrefix,
  taskFilesPrefix,
  type PublishedTask,
} from '#core/catalog';
import { taskRevision } from '#core/offered-task';
import type { RevisionRecord } from '#core/task-revision';
import type { TaskOffer } from '#contracts/publish-offer';
import { readTaskSource, variantFiles, type TaskSource, type TaskSourceDeps } from './task-source.ts';
import { uploadOf, uploadOfBundle, type Upload } from './uploads.ts';

interface VariantUploads {
  readonly input: readonly Upload[];
  readonly software: readonly Upload[];
  readonly reference: readonly Upload[];
  readonly solution: readonly Upload[];
}

type UploadsByVariant = ReadonlyMap<string, VariantUploads>;

/** A task as it can be published: its manifests, and where each of its files lies on this computer. */
export interface CompiledTask extends TaskOffer {
  readonly uploads: readonly Upload[];
}

/** Compiles and loads a task; nothing is stored. @throws TaskCardError | TaskLoadError with file and reason. */
export async function compileTask(folder: string, deps: TaskSourceDeps): Promise<CompiledTask> {
  const source = await readTaskSource(folder, deps);
  const records = sourceRecords(source);
  const hasStart = source.module.exports.includes('start');
  const described = { card: source.card, hasStart, variants: source.variants };
  const revision = taskRevision({ source: records, modules: moduleRecords(source) }, described, sha256Of);
  const keyPrefix = taskFilesPrefix(source.taskId, revision);
  const module = await uploadOfBundle('tasks', `${keyPrefix}task.mjs`, source.module, 'task.mjs');
  const solveKey = `${solutionFilesPrefix(source.taskId, revision)}solve.mjs`;
  const solve = source.solution === null ? null : await uploadOfBundle('tasks', solveKey, source.solution, 'solve.mjs');
  const services = await Promise.all(
    Object.entries(source.services).map(async ([name, code]): Promise<readonly [string, Upload]> => {
      return [name, await uploadOfBundle('tasks', `${keyPrefix}services/${name}.mjs`, code, `${name}.mjs`)];
    }),
  );
  const uploads = new Map(source.variants.map(({ name }) => [name, uploadsOf(source, revision, name, solve)]));
  const all = [...uploads.values()].flatMap(({ input, software, reference, solution }) => [
    ...input,
    ...software,
    ...reference,
    ...solution,
  ]);
  return {
    task: describeTask(source, { revision, module, hasStart, services: new Map(services), uploads }),
    references: PublishedReferencesSchema.parse(hiddenFiles(source, { revision, uploads }, 'reference')),
    solutions: PublishedSolutionsSchema.parse(hiddenFiles(source, { revision, uploads }, 'solution')),
    source: records,
    uploads: distinct([module, ...services.map(([, upload]) => upload), ...all]),
  };
}

interface TaskParts {
  readonly revision: string;
  readonly module: Upload;
  readonly hasStart: boolean;
  readonly services: ReadonlyMap<string, Upload>;
  readonly uploads: UploadsByVariant;
}

function describeTask(source: TaskSource, { revision, module, hasStart, services, uploads }: TaskParts): PublishedTask {
  return PublishedTaskSchema.parse({
    version: 1,
    taskId: source.taskId,
    revision,
    card: source.card,
    module: module.file,
    hasStart,
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

/** What the variants of a task hide of one kind, as its schema wants it. */
function hiddenFiles(
  source: TaskSource,
  { revision, uploads }: Pick<TaskParts, 'revision' | 'uploads'>,
  kind: 'reference' | 'solution',
): object {
  const variants = source.variants.map(({ name }) => ({ name, [kind]: filesOf(uploads.get(name)?.[kind]) }));
  return { version: 1, taskId: source.taskId, revision, variants };
}

function uploadsOf(source: TaskSource, revision: string, variantName: string, solve: Upload | null): VariantUploads {
  const keyPrefix = taskFilesPrefix(source.taskId, revision);
  const filed = (kind: keyof VariantUploads): Upload[] =>
    variantFiles(source, kind, variantName).map(({ path, file }) => {
      const prefix = kind === 'solution' ? solutionFilesPrefix(source.taskId, revision) : keyPrefix;
      const bucket = kind === 'reference' ? 'references' : 'tasks';
      return uploadOf(bucket, `${prefix}${variantName}/${kind}/`, file, path);
    });
  const solution = filed('solution');
  return {
    input: filed('input'),
    software: filed('software'),
    reference: filed('reference'),
    solution: solution.length === 0 && solve !== null ? [solve] : solution,
  };
}

/** Every file of the folder, caches aside. */
function sourceRecords(source: TaskSource): TaskOffer['source'] {
  return source.entries.flatMap((entry): TaskOffer['source'] => {
    if (entry.kind === 'other') return [];
    const value = entry.kind === 'symlink' ? entry.target : entry.sha256;
    return [{ path: entry.path, kind: entry.kind, value }];
  });
}

/** What is published of the compiled code. */
function moduleRecords({ module, services, solution, variants, ...source }: TaskSource): readonly RevisionRecord[] {
  const isUsed = variants.some(({ name }) => variantFiles(source, 'solution', name).length === 0);
  return [
    { path: 'task.mjs', kind: 'module', value: module.sha256 },
    ...Object.entries(services).map(([name, code]): RevisionRecord => ({
      path: `services/${name}.mjs`,
      kind: 'module',
      value: code.sha256,
    })),
    ...(solution === null || !isUsed
      ? []
      : [{ path: 'solve.mjs', kind: 'module', value: solution.sha256 } satisfies RevisionRecord]),
  ];
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function filesOf(uploads: readonly Upload[] = []): PublishedTask['variants'][number]['input'] {
  return uploads.map(({ file }) => file);
}

function distinct(uploads: readonly Upload[]): readonly Upload[] {
  return [...new Map(uploads.map((upload) => [`${upload.bucket}/${upload.file.key}`, upload])).values()];
}
