import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  evaluateOutput,
  folderNames,
  loadTaskModule,
  needsScreen,
  readCard,
  removeTemporaryFolders,
  scoreOf,
  stageVariants,
  taskNames,
  TASKS,
  temporaryFolder,
} from '#test/builders/task-folder';
import { buildWrongOutput, WrongCaseSchema } from '#test/builders/wrong-output';
import { tier } from '#test/runner/tier';
import { attemptSecret } from './attempt-secret.ts';
import { endAllCli, examhall } from './cli-process.ts';
import { testGround, writeExperiment } from './experiment-files.ts';
import { recordOf, runOutput, unitOf, type RunOutput, type UnitOutput } from './json-output.ts';
import { later } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 600_000 });

const SCREEN_TASKS = taskNames().filter(needsScreen);
const UNITS = SCREEN_TASKS.flatMap((task) =>
  Array.from({ length: readCard(task).variants }, (_, variant) => [task, variant] as const),
);
const AGENTS = ['oracle', 'scripted', 'nop'];

interface Trajectory {
  readonly steps: readonly {
    readonly tool_calls?: readonly { readonly function_name: string }[];
    readonly observation?: { readonly results: readonly { readonly content: unknown }[] };
  }[];
}

/** Paths of the pictures of a trajectory, in its order. */
function picturesIn({ steps }: Trajectory): readonly string[] {
  const contents = steps.flatMap(({ observation }) => observation?.results ?? []).map(({ content }) => content);
  return contents.flatMap((content) =>
    [...JSON.stringify(content).matchAll(/"path":"([^"]+)"/gu)].map(([, at]) => at ?? ''),
  );
}

tier('desktop')('every task on a screen', () => {
  const ground = testGround();
  const finished = later<RunOutput>();
  const unit = (agent: string, task: string, variant: number): UnitOutput =>
    unitOf(finished.get(), agent, task, variant);
  const folderOf = ({ runDir }: UnitOutput): string => path.join(finished.get().output, runDir ?? '?');

  beforeAll(async () => {
    const tasks = SCREEN_TASKS.map((task) => [task, UNITS.filter(([of]) => of === task).map(([, at]) => at)] as const);
    const providers = { 'cpu-free-ubuntu-desktop': 'desktop' };
    const file = writeExperiment(ground, { name: 'screens', agents: AGENTS, tasks, providers });
    finished.set(runOutput(await examhall(['run', file, '--json'], { timeoutSeconds: 580 })));
  });
  afterAll(async () => {
    await endAllCli();
    await removeTemporaryFolders();
    ground.remove();
  });

  it('is planned for each agent and variant', () => {
    expect(SCREEN_TASKS).toEqual(['demo/hello', 'demo/seecheck']);
    expect(finished.get().units).toHaveLength(UNITS.length * AGENTS.length);
  });

  it.each(UNITS)('%s variant %i gives the oracle 1, the scripted agent 1 and nop 0', (task, variant) => {
    const scores = AGENTS.map((agent) => unit(agent, task, variant).score);
    const errors = AGENTS.map((agent) => recordOf(finished.get(), unit(agent, task, variant)).error);
    expect(errors).toEqual([null, null, null]);
    expect(scores).toEqual([1, 1, 0]);
  });

  it.each(UNITS)('%s variant %i: the trajectory of the scripted agent shows screenshots in order', (task, variant) => {
    const folder = folderOf(unit('scripted', task, variant));
    const trajectory = JSON.parse(readFileSync(path.join(folder, 'trajectory.json'), 'utf8')) as Trajectory;
    const pictures = picturesIn(trajectory);
    expect(pictures.length).toBeGreaterThan(0);
    expect(pictures).toEqual([...pictures].sort());
    for (const picture of pictures) {
      expect(readFileSync(path.join(folder, picture)).subarray(1, 4).toString()).toBe('PNG');
    }
    const calls = trajectory.steps.flatMap((step) => step.tool_calls ?? []).map((call) => call.function_name);
    expect(calls.at(-1)).toBe('write');
    if (task === 'demo/hello') expect(calls).toEqual(expect.arrayContaining(['click', 'type', 'screenshot']));
  });

  it.each(UNITS)(
    '%s variant %i: no attempt’s secret is in its run folder, a log or the report',
    async (task, variant) => {
      const { output } = finished.get();
      const log = path.join(output, '.examhall/log');
      for (const agent of AGENTS) {
        const secret = await attemptSecret(output, unit(agent, task, variant));
        const files = [
          ...filesBelow(folderOf(unit(agent, task, variant))),
          ...filesBelow(log),
          `${output}/report.html`,
        ];
        expect(files.map((file) => path.basename(file))).toEqual(
          expect.arrayContaining(['record.json', 'events.jsonl']),
        );
        for (const file of files) expect(readFileSync(file, 'latin1').includes(secret), file).toBe(false);
      }
    },
  );

  it('keeps no secret in the store of objects once its attempt is closed', async () => {
    const { output, units } = finished.get();
    const secrets = await Promise.all(units.map((each) => attemptSecret(output, each)));
    const files = filesBelow(path.join(output, '.examhall/store'));
    expect(files.length).toBeGreaterThan(100);
    const leaking = files.filter((file) => {
      const content = readFileSync(file, 'latin1');
      return secrets.some((secret) => content.includes(secret));
    });
    expect(leaking).toEqual([]);
  });

  it('has another secret for each attempt', async () => {
    const secrets = await Promise.all(finished.get().units.map((each) => attemptSecret(finished.get().output, each)));
    expect(new Set(secrets).size).toBe(UNITS.length * AGENTS.length);
  });

  it('leaves no sandbox behind', () => {
    const sandboxes = path.join(finished.get().output, '.examhall/sandboxes');
    expect(existsSync(sandboxes) ? readdirSync(sandboxes) : []).toEqual([]);
  });

  describe.each(SCREEN_TASKS)('%s', (task) => {
    const cases = folderNames(path.join(TASKS, task, 'wrong')).flatMap((variant) =>
      folderNames(path.join(TASKS, task, 'wrong', variant)).map((wrong) => ({
        title: `${variant}/${wrong}`,
        variant,
        source: path.join(TASKS, task, 'wrong', variant, wrong),
        wrong: WrongCaseSchema.parse(
          JSON.parse(readFileSync(path.join(TASKS, task, 'wrong', variant, wrong, 'wrong.json'), 'utf8')),
        ),
      })),
    );
    const derived = cases.filter(({ wrong }) => wrong.from === 'solution');

    it('has wrong outputs that start from a right one', () => {
      expect(derived.length).toBeGreaterThan(3);
    });

    it.each(derived)('wrong output $title gets exactly its score', async ({ variant, source, wrong }) => {
      const module = await loadTaskModule(task);
      const staged = (await stageVariants(task, module)).find((each) => each.variant.name === variant);
      if (staged === undefined) throw new Error(`load() of ${task} has no variant ${variant}`);
      const solved = unit('oracle', task, staged.variantIndex);
      const output = path.join(await temporaryFolder(), 'output');
      const sources = { wrong: source, solution: path.join(folderOf(solved), 'output'), input: staged.paths.input };
      await buildWrongOutput(wrong, sources, output);
      const secret = await attemptSecret(finished.get().output, solved);
      expect(scoreOf(await evaluateOutput(module, staged, output, secret))).toBe(wrong.score);
    });
  });
});

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
