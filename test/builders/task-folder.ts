import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import type { EvaluateContext, Evaluation, Session, StartContext, TaskModule, TaskPaths, TaskVariant } from '#sdk';
import { folderReader } from './folder-reader.ts';
import { localSession } from './local-session.ts';

const run = promisify(execFile);
export const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const TASKS = path.join(REPOSITORY, 'tasks');

/** The secret of every attempt in tests of tasks. */
export const TEST_SECRET = '5ec4e7'.padEnd(64, '0');

const temporary: string[] = [];

/** A new empty folder; `removeTemporaryFolders` takes it away. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'task-'));
  temporary.push(folder);
  return folder;
}

/** For `afterAll`: removes what `temporaryFolder` made in this test file. */
export async function removeTemporaryFolders(): Promise<void> {
  for (const folder of temporary.splice(0)) await rm(folder, { recursive: true, force: true });
}

/** Folder names below `folder`, sorted. */
export function folderNames(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/** Every `<domain>/<task>` of the repository. */
export function taskNames(): readonly string[] {
  return folderNames(TASKS)
    .filter((domain) => domain !== 'lists')
    .flatMap((domain) => folderNames(path.join(TASKS, domain)).map((task) => `${domain}/${task}`))
    .filter((name) => !path.basename(name).startsWith('_'));
}

/** The card as it stands; what a run goes by is read with `#core/task-card`. */
export interface WholeCard {
  readonly grading: { readonly mode: string };
  readonly variants: number;
  readonly [key: string]: unknown;
}

export function readCard(task: string): WholeCard {
  return JSON.parse(readFileSync(path.join(TASKS, task, 'task_card.json'), 'utf8')) as WholeCard;
}

const SCREEN_SNAPSHOT = 'cpu-free-ubuntu-desktop';

/** Whether the task can only be begun and solved on a screen; tests of the tier `desktop` do so. */
export function needsScreen(task: string): boolean {
  return (readCard(task)['vm'] as { readonly snapshot?: unknown }).snapshot === SCREEN_SNAPSHOT;
}

export async function loadTaskModule(task: string): Promise<TaskModule> {
  return (await import(path.join(TASKS, task, 'task.ts'))) as TaskModule;
}

/** A staged variant of a task in a new temporary folder, as the sandbox would hold it. */
export interface StagedVariant {
  readonly task: string;
  readonly variant: TaskVariant;
  readonly variantIndex: number;
  readonly paths: TaskPaths;
}

export async function stageVariants(task: string, module: TaskModule): Promise<readonly StagedVariant[]> {
  const dataRoot = await temporaryFolder();
  const paths = (name: string): TaskPaths => {
    const root = path.join(dataRoot, task, name);
    return { root, input: `${root}/input`, software: `${root}/software`, output: `${root}/output` };
  };
  const variants = await module.load({ os: 'linux', dataRoot, paths });
  const staged: StagedVariant[] = [];
  for (const [variantIndex, variant] of variants.entries()) {
    const at = paths(variant.name);
    for (const part of ['input', 'software'] as const) {
      await mkdir(at[part], { recursive: true });
      const source = path.join(TASKS, task, part, variant.name);
      await cp(source, at[part], { recursive: true }).catch((error: unknown) => {
        if (part === 'input') throw error;
      });
    }
    staged.push({ task, variant, variantIndex, paths: at });
  }
  return staged;
}

/** What `start` of a task without services is called with. */
export function startContext({ variant, variantIndex, paths }: StagedVariant, session: Session): StartContext {
  const startService = (name: string) => Promise.reject(new Error(`this test starts no service ${name}`));
  return { variant, variantIndex, paths, session, secret: TEST_SECRET, startService };
}

/** Calls the task's `evaluate` on an output folder, as the grader would. */
export async function evaluateOutput(
  module: TaskModule,
  staged: StagedVariant,
  output: string,
  secret: string = TEST_SECRET,
): Promise<Evaluation> {
  const data = (part: string) => folderReader(path.join(TASKS, staged.task, part, staged.variant.name));
  const context: EvaluateContext = {
    variant: staged.variant,
    variantIndex: staged.variantIndex,
    paths: staged.paths,
    output: folderReader(output),
    reference: data('reference'),
    input: data('input'),
    secret,
    session: readCard(staged.task).grading.mode === 'same-sandbox' ? localSession() : null,
  };
  return module.evaluate(context);
}

export const scoreOf = (evaluation: Evaluation): number =>
  typeof evaluation === 'number' ? evaluation : evaluation.score;

/** Bundles the task's `solution.ts` into one file for plain Node. */
export async function bundleSolution(task: string): Promise<string> {
  const outfile = path.join(await temporaryFolder(), 'solve.mjs');
  await build({
    entryPoints: [path.join(TASKS, task, 'solution.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
  });
  return outfile;
}

/** Runs a bundled solution in the variant's folder with nothing but the task's variables in its environment. */
export async function runSolution(solve: string, staged: StagedVariant): Promise<void> {
  const { root, input, software, output } = staged.paths;
  await mkdir(output, { recursive: true });
  await run(process.execPath, [solve], {
    cwd: root,
    env: { TASK_INPUT: input, TASK_OUTPUT: output, TASK_SOFTWARE: software, TASK_ROOT: root },
    timeout: 30_000,
  });
}
