import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { endLeftovers } from './leftovers.ts';

/** Files by their path below a folder; text or bytes. */
export type FileTexts = Readonly<Record<string, string | Uint8Array>>;

/** A temporary folder with tasks, agents and experiments of a test. */
export interface TestGround {
  readonly folder: string;
  readonly tasks: string;
  readonly agents: string;
  /** `--tasks-dir` and `--agents-dir` of this ground. */
  readonly folderArgs: readonly string[];
  write(file: string, content: string | Uint8Array): string;
  remove(): void;
}

export function testGround(): TestGround {
  const folder = mkdtempSync(path.join(tmpdir(), 'examhall-e2e-'));
  // As root its agents are other users, who may be asked to come through here.
  chmodSync(folder, 0o755);
  const tasks = path.join(folder, 'tasks');
  const agents = path.join(folder, 'agents');
  for (const each of [tasks, agents]) mkdirSync(each);
  return {
    folder,
    tasks,
    agents,
    folderArgs: ['--tasks-dir', tasks, '--agents-dir', agents],
    write: (file, content) => writeBelow(folder, file, content),
    remove: () => {
      endLeftovers(folder);
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function writeBelow(folder: string, file: string, content: string | Uint8Array): string {
  const full = path.join(folder, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, content);
  return full;
}

export interface ExperimentText {
  readonly name: string;
  /** Harness ids, in order. */
  readonly agents: readonly string[];
  /** Task paths with their variants, in order. */
  readonly tasks: readonly (readonly [taskPath: string, variants: readonly number[]])[];
  readonly outputRoot?: string;
  /** More lines of the experiment file. */
  readonly more?: string;
  /** Provider of each snapshot tag; default `process` for `cpu-free-ubuntu`. */
  readonly providers?: Readonly<Record<string, string>>;
  readonly outputPath?: string;
}

/** Writes an experiment with its environment and agent files; returns its path. */
export function writeExperiment(ground: TestGround, text: ExperimentText): string {
  const folder = `experiments/${text.name}`;
  for (const agent of text.agents) ground.write(`${folder}/${agent}.yaml`, `harness: ${agent}\n`);
  const snapshots = Object.entries(text.providers ?? { 'cpu-free-ubuntu': 'process' });
  const routes = snapshots.map(([tag, provider]) => `  ${tag}: {provider: ${provider}, image: ale-ubuntu22}\n`);
  ground.write(
    `${folder}/environment.yaml`,
    `snapshots:\n${routes.join('')}output_path: ${text.outputPath ?? 'local'}\n`,
  );
  const agents = text.agents.map((agent) => `  - ${agent}.yaml\n`).join('');
  const tasks = text.tasks.map(([task, variants]) => `  - {path: ${task}, variants: [${variants.join(', ')}]}\n`);
  return ground.write(
    `${folder}/experiment.yaml`,
    `name: ${text.name}\nagents:\n${agents}environment: environment.yaml\ntasks:\n${tasks.join('')}` +
      `output: {root: ${text.outputRoot ?? path.join(ground.folder, 'out')}}\nconcurrency: 4\n${text.more ?? ''}`,
  );
}

export interface TaskText {
  /** Default `cpu-free-ubuntu`. */
  readonly snapshot?: string;
  /** Wall limit of the agent, seconds. */
  readonly timeout?: number;
  readonly gradingSeconds?: number;
  /** The whole `task.ts`; default: a variant for each of `variants`, scored by whether `answer.txt` is the reference's. */
  readonly module?: string;
  readonly variants?: readonly string[];
  readonly files?: FileTexts;
}

/** Writes a task that asks for the word in its reference: `input/<v>/word.txt` is what the solution copies. */
export function writeTask(ground: TestGround, taskPath: string, text: TaskText = {}): string {
  const folder = `tasks/${taskPath}`;
  const variants = text.variants ?? ['base'];
  const card = {
    taskId: taskPath.replace('/', '_'),
    title: 'A word',
    category: 'test',
    vm: { snapshot: text.snapshot ?? 'cpu-free-ubuntu', machineType: 'c4-standard-4', timeout: text.timeout ?? 120 },
    grading: { mode: 'light', timeoutSeconds: text.gradingSeconds ?? 30 },
  };
  ground.write(`${folder}/task_card.json`, JSON.stringify(card));
  ground.write(`${folder}/task.ts`, text.module ?? wordTask(variants));
  ground.write(`${folder}/solution.ts`, SOLUTION);
  for (const variant of variants) {
    ground.write(`${folder}/input/${variant}/word.txt`, `the word of ${variant}\n`);
    ground.write(`${folder}/reference/${variant}/answer.txt`, `the word of ${variant}\n`);
  }
  for (const [file, content] of Object.entries(text.files ?? {})) ground.write(`${folder}/${file}`, content);
  return path.join(ground.folder, folder);
}

const SOLUTION = `import { copyFileSync, mkdirSync } from 'node:fs';
const { TASK_INPUT = '', TASK_OUTPUT = '' } = process.env;
mkdirSync(TASK_OUTPUT, { recursive: true });
copyFileSync(TASK_INPUT + '/word.txt', TASK_OUTPUT + '/answer.txt');
`;

/** `load` for the variants, and an `evaluate` with the body given. */
export function taskModule(variants: readonly string[], evaluateBody: string): string {
  return `import { type EvaluateContext, type Evaluation, type LoadContext } from '#sdk';
export function load(context: LoadContext) {
  return ${JSON.stringify(variants)}.map((name) => ({ name, prompt: 'Write ' + context.paths(name).output + '/answer.txt' }));
}
export async function evaluate(context: EvaluateContext): Promise<Evaluation> {
${evaluateBody}
}
`;
}

function wordTask(variants: readonly string[]): string {
  return taskModule(
    variants,
    `  if (!(await context.output.exists('answer.txt'))) return 0;
  return (await context.output.readText('answer.txt')) === (await context.reference.readText('answer.txt')) ? 1 : 0;`,
  );
}

/** Writes an agent whose whole launch script is given. */
export function writeAgent(ground: TestGround, id: string, launch: string, limits: object = {}): void {
  const manifest = {
    id,
    version: '1.0.0',
    harness: id,
    description: 'An agent of a test.',
    executor: 'sandbox',
    runtime: { node: '>=20.19' },
    launch: 'launch.ts',
    parser: 'parser.ts',
    limits,
    requiredEnv: [],
  };
  ground.write(`agents/${id}/agent.json`, JSON.stringify(manifest));
  ground.write(`agents/${id}/launch.ts`, `${launch}\nexport {};\n`);
  ground.write(`agents/${id}/parser.ts`, 'export function parse() {\n  return { steps: [] };\n}\n');
}
