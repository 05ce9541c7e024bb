import path from 'node:path';
import * as z from 'zod';
import { BundleError, bundle, type Bundle } from '../../bundler.ts';
import { ServiceNameSchema, TASK_LIMITS, TaskIdSchema } from '#core/catalog';
import { ExamHallError } from '#core/errors';
import { formatProblem, plainSource } from '#core/located';
import { readTaskCard } from '#core/task-card';
import { CANONICAL_DATA_ROOTS } from '#core/task-paths';
import type { ModuleRunner } from '#ports/module-runner';
import { listFolder, type FolderEntry, type FolderFile } from './folder-files.ts';
import { checkFile, readJsonFile } from './json-file.ts';

/** What `load` returned for one variant. */
export interface LoadedVariant {
  readonly name: string;
  readonly prompt: string;
  readonly metadata: Record<string, unknown>;
}

/** A task folder, read, compiled and loaded. */
export interface TaskSource {
  readonly taskId: string;
  readonly card: Record<string, unknown>;
  readonly entries: readonly FolderEntry[];
  readonly module: Bundle;
  /** Of `solution.ts`, which stands for the solution of every variant without its own. */
  readonly solution: Bundle | null;
  /** Of `services/<name>.ts`, by name. */
  readonly services: Readonly<Record<string, Bundle>>;
  readonly variants: readonly LoadedVariant[];
}

export interface TaskSourceDeps {
  readonly runner: ModuleRunner;
  readonly cacheDir: string;
}

const VARIANT_FOLDERS = ['input', 'software', 'reference', 'solution', 'wrong'] as const;
const LOAD_LIMITS = { timeoutSeconds: 30, memoryMiB: 256, outputLimitKiB: 64, resultLimitKiB: 4096 };

const VariantsSchema = z
  .array(
    z.object({
      name: z
        .string()
        .max(TASK_LIMITS.variantNameLength, `must be of at most ${String(TASK_LIMITS.variantNameLength)} characters`)
        .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be a folder name of A-Z a-z 0-9 . _ -'),
      prompt: z.string().min(1, 'must be the instruction given to the agent'),
      metadata: z.record(z.string(), z.unknown()).default({}),
    }),
  )
  .min(1, 'must hold at least one variant')
  .max(TASK_LIMITS.variants, `must hold at most ${String(TASK_LIMITS.variants)} variants: split the task`)
  .refine((variants) => new Set(variants.map(({ name }) => name)).size === variants.length, 'has a name twice');

/**
 * Reads a task's folder, whose last two names are its id.
 * @throws TaskCardError | TaskLoadError with file and reason; GraderUnavailableError when `load` could not be run.
 */
export async function readTaskSource(folder: string, deps: TaskSourceDeps): Promise<TaskSource> {
  const taskId = taskIdOf(folder);
  const card = await readCard(path.join(folder, 'task_card.json'));
  const entries = await listFolder(folder);
  const file = path.join(folder, 'task.ts');
  const module = await bundlePart(file, 'pure', deps.cacheDir);
  for (const name of ['load', 'evaluate']) {
    if (!module.exports.includes(name))
      throw loadError(`${taskId}: task.ts must export ${name}; it exports ${module.exports.join(', ') || 'nothing'}`);
  }
  const hasSolution = entries.some((entry) => entry.path === 'solution.ts');
  const solution = hasSolution ? await bundlePart(path.join(folder, 'solution.ts'), 'script', deps.cacheDir) : null;
  const services = await bundleServices(taskId, folder, entries, deps.cacheDir);
  const variants = await loadVariants({ taskId, file, card, module }, deps.runner);
  refuseStrays(taskId, entries, variants);
  return { taskId, card, entries, module, solution, services, variants };
}

/** Files of `<kind>/<variant>/`, by their path below it. @throws TaskLoadError for links and devices. */
export function variantFiles(
  source: Pick<TaskSource, 'taskId' | 'entries'>,
  kind: (typeof VARIANT_FOLDERS)[number],
  variantName: string,
): readonly { readonly path: string; readonly file: FolderFile }[] {
  const prefix = `${kind}/${variantName}/`;
  return source.entries
    .filter((entry) => entry.path.startsWith(prefix))
    .map((entry) => {
      if (entry.kind === 'symlink' || entry.kind === 'other') {
        const what = entry.kind === 'symlink' ? `a link to ${entry.target}` : 'a device, pipe or socket';
        throw loadError(
          `${source.taskId}: ${entry.path} is ${what}; only regular files are published: put the file itself there`,
        );
      }
      return { path: entry.path.slice(prefix.length), file: entry };
    });
}

function taskIdOf(folder: string): string {
  const taskId = path.resolve(folder).split(path.sep).slice(-2).join('/');
  if (TaskIdSchema.safeParse(taskId).success) return taskId;
  throw loadError(
    `${folder}: "${taskId}" is no task id; a task lies in <domain>/<task>, of a-z 0-9 _ -, at most 128 characters`,
  );
}

async function readCard(file: string): Promise<Record<string, unknown>> {
  const value = await readJsonFile(file, 'TaskCardError');
  const card = checkFile(file, value, { schema: z.record(z.string(), z.unknown()), errorName: 'TaskCardError' });
  const { problems } = readTaskCard(card, plainSource(file, card));
  if (problems.length > 0) throw new ExamHallError('TaskCardError', problems.map(formatProblem).join('\n'), { file });
  return card;
}

/** Files of `services/` itself; those of folders below it are theirs to import. */
async function bundleServices(
  taskId: string,
  folder: string,
  entries: readonly FolderEntry[],
  outDir: string,
): Promise<Readonly<Record<string, Bundle>>> {
  const services: Record<string, Bundle> = {};
  for (const entry of entries) {
    const [, name] = /^services\/([^/]+)\.ts$/u.exec(entry.path) ?? [];
    if (name === undefined) continue;
    if (!ServiceNameSchema.safeParse(name).success) {
      throw loadError(`${taskId}: ${entry.path}: a service is named by at most 32 of a-z 0-9 -, a letter first`);
    }
    services[name] = await bundlePart(path.join(folder, entry.path), 'script', outDir, folder);
  }
  return services;
}

async function bundlePart(
  file: string,
  kind: 'pure' | 'script',
  outDir: string,
  root: string = path.dirname(file),
): Promise<Bundle> {
  try {
    return await bundle(file, { outDir, kind, root });
  } catch (error) {
    if (error instanceof BundleError) throw loadError(error.message, error);
    throw error;
  }
}

interface LoadingTask {
  readonly taskId: string;
  /** Of `task.ts`. */
  readonly file: string;
  readonly card: Record<string, unknown>;
  readonly module: Bundle;
}

async function loadVariants(
  { taskId, file, card, module }: LoadingTask,
  runner: ModuleRunner,
): Promise<readonly LoadedVariant[]> {
  const os = osOf(card);
  const report = await runner.run({
    modulePath: module.path,
    phase: 'load',
    input: { os, dataRoot: CANONICAL_DATA_ROOTS[os], taskId },
    folders: {},
    limits: LOAD_LIMITS,
  });
  if (report.end === 'unavailable') {
    throw new ExamHallError('GraderUnavailableError', `${file}: load could not be run: ${report.errorMessage ?? ''}`);
  }
  if (report.end !== 'returned') {
    const reason = [report.errorName, report.errorMessage].filter((part) => part !== null).join(': ');
    throw loadError(`${file}: load ended as "${report.end}"${reason === '' ? '' : `: ${reason}`}`);
  }
  const value = report.valueKind === 'json' ? report.value : undefined;
  return checkFile(`${file}: load`, value, { schema: VariantsSchema, errorName: 'TaskLoadError' });
}

function refuseStrays(taskId: string, entries: readonly FolderEntry[], variants: readonly LoadedVariant[]): void {
  const names = new Set(variants.map(({ name }) => name));
  for (const entry of entries) {
    const [kind, variantName] = entry.path.split('/');
    if (!VARIANT_FOLDERS.some((known) => known === kind) || variantName === undefined || names.has(variantName))
      continue;
    throw loadError(`${taskId}: ${entry.path} belongs to no variant; load names ${[...names].join(', ')}`);
  }
}

function osOf(card: Record<string, unknown>): 'linux' | 'windows' {
  const vm = typeof card['vm'] === 'object' && card['vm'] !== null ? (card['vm'] as Record<string, unknown>) : {};
  const named = vm['os'] ?? vm['osType'] ?? card['os'];
  return typeof named === 'string' && /^win/i.test(named) ? 'windows' : 'linux';
}

function loadError(message: string, cause?: unknown): ExamHallError {
  return new ExamHallError('TaskLoadError', message, {}, cause);
}
