import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTaskCard } from '#core/task-card';
import { type TaskModule } from '#sdk';
import { localSession } from '#test/builders/local-session';
import {
  bundleSolution,
  evaluateOutput,
  folderNames,
  loadTaskModule,
  needsScreen,
  readCard,
  removeTemporaryFolders,
  runSolution,
  scoreOf,
  stageVariants,
  startContext,
  type StagedVariant,
  taskNames,
  TASKS,
  temporaryFolder,
} from '#test/builders/task-folder';
import { buildWrongOutput, WrongCaseSchema, type WrongCase } from '#test/builders/wrong-output';

const GRADING_MODES = ['light', 'same-sandbox'];

afterAll(removeTemporaryFolders);

it('finds tasks', () => {
  expect(taskNames().length).toBeGreaterThanOrEqual(3);
});

describe.each(taskNames())('%s', (task) => {
  const folder = path.join(TASKS, task);
  const variantNames = folderNames(path.join(folder, 'input'));
  let module: TaskModule;
  let staged: readonly StagedVariant[];
  let solve: string;

  beforeAll(async () => {
    module = await loadTaskModule(task);
    staged = await stageVariants(task, module);
    solve = await bundleSolution(task);
  });

  const variantNamed = (name: string): StagedVariant => {
    const found = staged.find((candidate) => candidate.variant.name === name);
    if (found === undefined) throw new Error(`load() of ${task} has no variant ${name}`);
    return found;
  };

  const isOnScreen = needsScreen(task);

  it('has a card the pipeline can read', () => {
    const whole = readCard(task);
    const { card, problems } = readTaskCard(whole);
    expect(problems).toEqual([]);
    expect(card.snapshot).toBe(isOnScreen ? 'cpu-free-ubuntu-desktop' : 'cpu-free-ubuntu');
    expect(card.machineType).not.toBeNull();
    expect(card.timeoutSeconds).toBeGreaterThan(0);
    expect(GRADING_MODES).toContain(card.grading.mode);
    expect(whole.variants).toBe(variantNames.length);
    for (const key of ['taskId', 'title', 'summary', 'category', 'taskPrompt', 'taxonomy', 'evaluation']) {
      expect(whole).toHaveProperty(key);
    }
  });

  it('has a README, and input and reference for each variant that load() names', () => {
    expect(readFileSync(path.join(folder, 'README.md'), 'utf8')).toMatch(/^# /);
    expect(variantNames.length).toBeGreaterThan(0);
    expect(staged.map(({ variant }) => variant.name)).toEqual(variantNames);
    for (const part of ['input', 'reference']) {
      for (const name of variantNames) expect(readdirSync(path.join(folder, part, name)).length).toBeGreaterThan(0);
    }
  });

  it.each(variantNames)('%s: the prompt names the absolute output and input folders', (name) => {
    const { variant, paths } = variantNamed(name);
    expect(variant.prompt).toContain(paths.output);
    expect(variant.prompt).toContain(paths.input);
  });

  it.each(variantNames)(
    '%s: start empties the output folder and refuses a variant that is not staged',
    async (name) => {
      const at = variantNamed(name);
      const { paths } = at;
      const session = localSession();
      await session.createDir(paths.output);
      await session.writeFile(`${paths.output}/left over.txt`, 'old');
      await session.writeFile(`${paths.output}/.hidden`, 'old');
      const begun = (async () => module.start?.(startContext(at, session)))();
      if (isOnScreen) await expect(begun).rejects.toThrow('this test starts no service');
      else await begun;
      expect(await readdir(paths.output)).toEqual([]);

      const elsewhere = { ...paths, input: `${paths.root}/nowhere` };
      await expect(async () => module.start?.(startContext({ ...at, paths: elsewhere }, session))).rejects.toThrow(
        'not staged',
      );
    },
  );

  const ends = isOnScreen ? 'an empty output scores 0' : 'the solution scores exactly 1 and an empty output 0';

  it.each(variantNames)(`%s: ${ends}`, async (name) => {
    const at = variantNamed(name);
    if (!isOnScreen) {
      await runSolution(solve, at);
      const evaluation = await evaluateOutput(module, at, at.paths.output);
      expect(scoreOf(evaluation), JSON.stringify(evaluation)).toBe(1);
    }
    const empty = await temporaryFolder();
    expect(scoreOf(await evaluateOutput(module, at, empty))).toBe(0);
  });

  const wrongFolder = path.join(folder, 'wrong');
  const wrongCases = variantNames
    .filter((name) => existsSync(path.join(wrongFolder, name)))
    .flatMap((name) => folderNames(path.join(wrongFolder, name)).map((wrong) => `${name}/${wrong}`));

  it('has at least three wrong outputs for each variant', () => {
    for (const name of variantNames) {
      expect(wrongCases.filter((wrong) => wrong.startsWith(`${name}/`)).length, name).toBeGreaterThanOrEqual(3);
    }
  });

  const readCase = (wrong: string): WrongCase =>
    WrongCaseSchema.parse(JSON.parse(readFileSync(path.join(wrongFolder, wrong, 'wrong.json'), 'utf8')));
  const testable = wrongCases.filter((wrong) => !isOnScreen || readCase(wrong).from !== 'solution');

  it.each(testable)('wrong output %s gets exactly its score', async (wrong) => {
    const at = variantNamed(wrong.split('/')[0] ?? '');
    const source = path.join(wrongFolder, wrong);
    const wrongCase = readCase(wrong);
    if (!isOnScreen) await runSolution(solve, at);
    const output = path.join(await temporaryFolder(), 'output');
    const sources = { wrong: source, solution: at.paths.output, input: at.paths.input };
    await buildWrongOutput(wrongCase, sources, output);
    const evaluation = await evaluateOutput(module, at, output);
    expect(scoreOf(evaluation), JSON.stringify(evaluation)).toBe(wrongCase.score);
  });
});
