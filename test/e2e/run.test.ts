import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { endAllCli, examhall, type CliEnd } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';
import { runOutput, unitOf, type RunOutput } from './json-output.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const TASKS = [
  ['life_sciences/plate_reader_qc', [0]],
  ['e2e/word', [1, 0]],
] as const;
const treeRoot = path.join(ground.folder, 'out', 'shared');

/** Everything below runs on this one experiment; each run starts where the one before ended. */
const runs = { experiment: '', first: undefined as CliEnd | undefined };

async function again(...args: readonly string[]): Promise<{ readonly end: CliEnd; readonly output: RunOutput }> {
  const end = await examhall(['run', runs.experiment, ...ground.folderArgs, '--json', ...args]);
  return { end, output: runOutput(end) };
}

function runFolders(agent: string, task: string, variant: number): string[] {
  const folder = path.join(treeRoot, agent, 'unknown-model', task.replace('/', '__'), `v${String(variant)}`);
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

beforeAll(async () => {
  writeTask(ground, 'e2e/word', { variants: ['one', 'two'] });
  writeAgent(ground, 'failing', 'process.exit(7);');
  runs.experiment = writeExperiment(ground, { name: 'shared', agents: ['oracle', 'nop'], tasks: TASKS });
  runs.first = await examhall(['run', runs.experiment, ...ground.folderArgs]);
});

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

describe('examhall run, the first time', () => {
  const first = (): CliEnd => runs.first ?? { code: null, stdout: '', stderr: '' };

  it('exits 0 when every unit completed', () => {
    expect(first().code, first().stderr + first().stdout).toBe(0);
  });

  it("prints upstream's table with a row for each unit in the order of the experiment", () => {
    const rows = first()
      .stdout.split('\n')
      .filter((line) => / v?\d  (?:completed|failed)/u.test(line));
    const cells = rows.map((row) =>
      row
        .trim()
        .split(/\s{2,}/u)
        .slice(0, 3),
    );
    expect(cells).toEqual([
      ['oracle', 'life_sciences/plate_reader_qc', '0'],
      ['oracle', 'e2e/word', '1'],
      ['oracle', 'e2e/word', '0'],
      ['nop', 'life_sciences/plate_reader_qc', '0'],
      ['nop', 'e2e/word', '1'],
      ['nop', 'e2e/word', '0'],
    ]);
    expect(rows[0]).toMatch(/completed {5}1\.00/u);
    expect(rows[3]).toMatch(/completed {5}0\.00/u);
  });

  it('says how the plan splits and where records and report lie', () => {
    expect(first().stdout).toContain('6 planned = 6 scored');
    expect(first().stdout).toContain(`records: ${treeRoot}\n`);
    expect(first().stdout).toContain(`report:  ${path.join(treeRoot, 'report.html')}\n`);
    expect(existsSync(path.join(treeRoot, 'report.html'))).toBe(true);
  });

  it('tells progress on standard error in plain lines, one for each closed unit, without colour', () => {
    const [planned, ...lines] = first().stderr.trimEnd().split('\n');
    expect(planned).toBe('6 units planned');
    expect(lines).toHaveLength(6);
    expect(lines.map((line) => /^\[\d\/6\] shared__[\w-]+$/u.test(line))).not.toContain(false);
    expect(first().stdout + first().stderr).not.toContain('\u001b');
    expect(first().stderr).not.toContain('\r');
  });
});

describe('examhall run, again', () => {
  it('skips what is finished, and --json gives every unit in the order of the experiment', async () => {
    const { end, output } = await again();
    expect(end.code).toBe(0);
    expect(output.skippedUnits).toBe(6);
    expect(output.units.map(({ agent, task, variant }) => [agent, task, variant])).toEqual([
      ['oracle', 'life_sciences/plate_reader_qc', 0],
      ['oracle', 'e2e/word', 1],
      ['oracle', 'e2e/word', 0],
      ['nop', 'life_sciences/plate_reader_qc', 0],
      ['nop', 'e2e/word', 1],
      ['nop', 'e2e/word', 0],
    ]);
    expect(output.units.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(unitOf(output, 'oracle', 'e2e/word')).toMatchObject({ class: 'scored', status: 'completed', score: 1 });
    for (const { runDir } of output.units)
      expect(existsSync(path.join(treeRoot, runDir ?? '?', 'record.json'))).toBe(true);
  });

  it('gives units that failed another attempt in a folder of its own, and exits 1', async () => {
    writeExperiment(ground, { name: 'shared', agents: ['failing', 'oracle', 'nop'], tasks: TASKS });
    const before = await again('--agent', 'failing', '--task', 'e2e/word');
    expect(before.end.code).toBe(1);
    expect(before.output.units).toHaveLength(2);
    expect(unitOf(before.output, 'failing', 'e2e/word')).toMatchObject({ status: 'failed', attempts: 1 });
    const after = await again('--agent', 'failing', '--agent', 'nop', '--task', 'e2e/word');
    expect(after.end.code).toBe(1);
    expect(after.output.units.map(({ agent, attempts }) => [agent, attempts])).toEqual([
      ['failing', 2],
      ['failing', 2],
      ['nop', 1],
      ['nop', 1],
    ]);
    expect(after.output.skippedUnits).toBe(2);
    const folders = runFolders('failing', 'e2e/word', 0);
    expect(folders).toHaveLength(2);
    expect(unitOf(after.output, 'failing', 'e2e/word').runDir).toContain(folders[1]);
    expect(runFolders('nop', 'e2e/word', 0)).toHaveLength(1);
  });

  it('runs units of a task whose files have changed anew, and no others', async () => {
    ground.write('tasks/e2e/word/input/one/word.txt', 'another word\n');
    ground.write('tasks/e2e/word/reference/one/answer.txt', 'another word\n');
    const { end, output } = await again('--agent', 'oracle');
    expect(end.code).toBe(0);
    expect(output.units.map(({ task, attempts, score }) => [task, attempts, score])).toEqual([
      ['life_sciences/plate_reader_qc', 1, 1],
      ['e2e/word', 2, 1],
      ['e2e/word', 2, 1],
    ]);
    expect(runFolders('oracle', 'e2e/word', 0)).toHaveLength(2);
  });

  it('runs finished units once more with --disable-resume', async () => {
    const { end, output } = await again(
      '--disable-resume',
      '--agent',
      'nop',
      '--task',
      'life_sciences/plate_reader_qc',
    );
    expect(end.code).toBe(0);
    expect(output.units.map(({ unitId, attempts }) => [unitId, attempts])).toEqual([
      ['shared__nop__unknown-model__life_sciences__plate_reader_qc__v0', 2],
    ]);
    expect(output.skippedUnits).toBe(0);
  });

  it('keeps the report of the last run beside the records', () => {
    expect(readFileSync(path.join(treeRoot, 'report.html'), 'utf8')).toContain('plate_reader_qc');
  });
});
