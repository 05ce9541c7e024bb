import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { type Recording, recordingFileName, RecordingSchema } from '#core/recording';
import {
  evaluateOutput,
  loadTaskModule,
  needsScreen,
  readCard,
  removeTemporaryFolders,
  REPOSITORY,
  scoreOf,
  type StagedVariant,
  stageVariants,
  taskNames,
  TASKS,
} from '#test/builders/task-folder';
import { generateInput } from '../../tasks/life_sciences/plate_reader_qc/generate.ts';

const run = promisify(execFile);
const RECORDINGS = path.join(REPOSITORY, 'agents/scripted');

const readRecording = (task: string): Recording =>
  RecordingSchema.parse(JSON.parse(readFileSync(path.join(RECORDINGS, recordingFileName(task)), 'utf8')));

/** Runs the recorded lines as the `scripted` agent does: cwd and variables of the task, nothing else. */
async function replay(recording: Recording, { variant, paths }: StagedVariant): Promise<void> {
  const env = {
    PATH: '/usr/bin:/bin',
    NODE: process.execPath,
    TASK_ROOT: paths.root,
    TASK_INPUT: paths.input,
    TASK_OUTPUT: paths.output,
    TASK_SOFTWARE: paths.software,
  };
  await mkdir(paths.output, { recursive: true });
  const steps = recording.variants?.[variant.name]?.steps ?? recording.steps;
  if (steps === undefined) throw new Error(`${recording.task} has no recorded steps for ${variant.name}`);
  for (const step of steps) {
    if (!('run' in step)) throw new Error(`${recording.task} has a step for a screen: ${JSON.stringify(step)}`);
    await run('/bin/sh', ['-c', step.run], { cwd: paths.root, env, timeout: 30_000 });
  }
}

afterAll(removeTemporaryFolders);

describe.each(taskNames().filter((task) => !needsScreen(task)))('the recording of %s', (task) => {
  it('names its task and replays in every variant without a failing line', async () => {
    const recording = readRecording(task);
    expect(recording.task).toBe(task);
    const module = await loadTaskModule(task);
    const scores: number[] = [];
    for (const staged of await stageVariants(task, module)) {
      await replay(recording, staged);
      scores.push(scoreOf(await evaluateOutput(module, staged, staged.paths.output)));
    }
    expect(Math.max(...scores)).toBeGreaterThan(0);
    for (const score of scores) expect(score >= 0 && score <= 1).toBe(true);
  });
});

it('has a recording for each task and none for a task that is not there', () => {
  const names = readdirSync(RECORDINGS).filter((name) => name.includes('__') && name.endsWith('.json'));
  expect(names.sort()).toEqual(taskNames().map(recordingFileName));
});

interface ListEntry {
  readonly path: string;
  readonly variants: readonly number[];
}

/** Both forms of a list: a name a line, always variant 0; or YAML entries of path and variants. */
function readList(name: string): readonly ListEntry[] {
  const text = readFileSync(path.join(TASKS, 'lists', name), 'utf8');
  if (name.endsWith('.yaml')) return ListSchema.parse(parse(text));
  const lines = text.split('\n').map((line) => line.replace(/#.*$/, '').trim());
  return lines.filter((line) => line !== '').map((line) => ({ path: line, variants: [0] }));
}

const ListSchema = z.array(z.strictObject({ path: z.string(), variants: z.array(z.int().nonnegative()).default([0]) }));

describe('the task lists', () => {
  it.each(readdirSync(path.join(TASKS, 'lists')))('%s names tasks and variants that exist, each once', (name) => {
    const entries = readList(name);
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.filter((entry) => !taskNames().includes(entry.path))).toEqual([]);
    const units = entries.flatMap((entry) => entry.variants.map((variant) => `${entry.path} ${variant}`));
    expect(new Set(units).size).toBe(units.length);
    for (const entry of entries) expect(Math.max(...entry.variants)).toBeLessThan(readCard(entry.path).variants);
  });

  it('all.txt names every task', () => {
    expect(
      readList('all.txt')
        .map((entry) => entry.path)
        .sort(),
    ).toEqual(taskNames());
  });
});

it('the plate reader tables are what their generator makes', () => {
  const made = Object.entries(generateInput());
  expect(made.length).toBeGreaterThan(0);
  for (const [name, content] of made) {
    const file = path.join(TASKS, 'life_sciences/plate_reader_qc/input/base', name);
    expect(readFileSync(file, 'utf8') === content, name).toBe(true);
  }
});
