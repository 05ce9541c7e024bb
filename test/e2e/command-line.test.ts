import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { endAllCli, examhall, REPOSITORY } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const outputRoot = path.join(ground.folder, 'out');

interface Wrong {
  readonly what: string;
  readonly file: () => string;
  readonly args?: readonly string[];
  /** In this order on standard error. */
  readonly says: readonly string[];
}

function experiment(name: string, more: Partial<Parameters<typeof writeExperiment>[1]> = {}): string {
  return writeExperiment(ground, { name, agents: ['oracle', 'nop'], tasks: [['e2e/word', [0]]], ...more });
}

/** The environment of an experiment with a line more. */
function withEnvironmentLine(name: string, line: string): string {
  const file = experiment(name, { outputPath: 'null' });
  const snapshots = 'snapshots:\n  cpu-free-ubuntu: {provider: process, image: ale-ubuntu22}\n';
  ground.write(`experiments/${name}/environment.yaml`, `${snapshots}${line}\n`);
  return file;
}

beforeAll(() => {
  writeTask(ground, 'e2e/word');
  writeTask(ground, 'e2e/other-machine', { snapshot: 'gpu-free' });
  writeAgent(ground, 'idle', 'process.exit(0);');
});

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

const wrong: readonly Wrong[] = [
  {
    what: 'an experiment that does not exist',
    file: () => path.join(ground.folder, 'nowhere.yaml'),
    says: ['nowhere.yaml:1:1: the experiment file', 'allowed: the path of a readable YAML file'],
  },
  {
    what: 'more attempts than upstream allows',
    file: () => experiment('attempts', { more: 'max_attempts: 4\n' }),
    says: ['attempts/experiment.yaml:10:', '4', 'allowed: ', '1 to 3'],
  },
  {
    what: 'an agent that neither this repository nor the folders have',
    file: () => experiment('stranger', { agents: ['oracel'] }),
    says: ['stranger/experiment.yaml:3:', 'unknown agent; got "oracel"', 'write "oracle"'],
  },
  {
    what: 'a task that nobody has',
    file: () => experiment('no-task', { tasks: [['e2e/wrod', [0]]] }),
    says: ['no-task/experiment.yaml:7:', 'unknown task; got "e2e/wrod"', 'write "e2e/word"'],
  },
  {
    what: 'a variant the task does not have',
    file: () => experiment('no-variant', { tasks: [['e2e/word', [0, 7]]] }),
    says: ['no-variant/experiment.yaml:7:', 'task "e2e/word" has no such variant; got 7; allowed: 0'],
  },
  {
    what: 'a task whose machine the environment does not map',
    file: () => experiment('unmapped', { tasks: [['e2e/other-machine', [0]]] }),
    says: ['unmapped/experiment.yaml:7:', 'e2e/other-machine', '"gpu-free"', 'allowed: "cpu-free-ubuntu"'],
  },
  {
    what: 'a provider of a cloud',
    file: () => experiment('cloud', { providers: { 'cpu-free-ubuntu': 'docker' } }),
    says: ['cloud/environment.yaml:2:', 'provider "docker"', 'not available here', 'allowed: process,'],
  },
  {
    what: 'task data in a bucket',
    file: () => withEnvironmentLine('bucket-data', 'task_data_source: gs://tasks'),
    says: ['bucket-data/environment.yaml:3:', '"task_data_source"', 'not available here; got "gs://tasks"'],
  },
  {
    what: 'output to a bucket',
    file: () => withEnvironmentLine('bucket-output', 'output_path: s3://results'),
    says: ['bucket-output/environment.yaml:3:', '"output_path"', 'not available here; got "s3://results"', '"local"'],
  },
  {
    what: 'a filter that names no agent of the experiment',
    file: () => experiment('filter'),
    args: ['--agent', 'nobody'],
    says: ['--agent names no agent of the experiment; got "nobody"; allowed: "oracle", "nop"'],
  },
  {
    what: 'a folder of tasks that does not exist',
    file: () => experiment('no-folder'),
    args: ['--tasks-dir', '/nowhere/tasks'],
    says: ['/nowhere/tasks does not exist'],
  },
  {
    what: 'an option that does not exist',
    file: () => experiment('option'),
    args: ['--parallel'],
    says: ["unknown option '--parallel'", '--help'],
  },
];

describe('examhall run with wrong input', () => {
  it.each(wrong)('ends with 2 for $what and says where and what is allowed', async ({ file, args = [], says }) => {
    const end = await examhall(['run', file(), ...ground.folderArgs, ...args]);
    expect(end.code, end.stderr).toBe(2);
    expect(end.stdout).toBe('');
    let from = 0;
    for (const text of says) {
      const place = end.stderr.indexOf(text, from);
      expect(place, `${JSON.stringify(text)} in ${end.stderr}`).toBeGreaterThanOrEqual(0);
      from = place;
    }
    expect(end.stderr).not.toContain('\u001b');
    expect(end.stderr).not.toMatch(/^\s+at /mu);
  });
});

describe('examhall run --dry-run', () => {
  it("prints upstream's block and starts nothing", async () => {
    const file = experiment('dry', { tasks: [['e2e/word', [0]]], outputRoot: path.join(ground.folder, 'dry-out') });
    const end = await examhall(['run', file, '--dry-run', '--agent', 'nop', ...ground.folderArgs]);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout.split('\n')).toEqual([
      'experiment: dry',
      'environment: process (cpu-free-ubuntu->process)',
      `output:     ${ground.folder}/dry-out/dry`,
      'concurrency: 4',
      'units (1):',
      '  nop                   e2e/word                                  v0',
      '',
    ]);
    expect(existsSync(path.join(ground.folder, 'dry-out'))).toBe(false);
  });

  it.each([
    ['privilege: upstream', 'ale-ubuntu22', 'privilege upstream (allowed: restricted'],
    ['network: open', 'ale-win10', 'os windows (allowed: linux)'],
  ])('refuses what a provider of this computer cannot give, as a run does: %s on %s', async (more, image, says) => {
    const name = `beyond-${image}`;
    const file = experiment(name, { more: `${more}\n`, outputRoot: path.join(ground.folder, 'beyond-out') });
    const route = `snapshots:\n  cpu-free-ubuntu: {provider: process, image: ${image}}\n`;
    ground.write(`experiments/${name}/environment.yaml`, route);
    for (const args of [['--dry-run'], []]) {
      const end = await examhall(['run', file, ...ground.folderArgs, ...args]);
      expect(end).toMatchObject({ code: 2, stdout: '' });
      expect(end.stderr).toContain('task "e2e/word" cannot be run with ');
      expect(end.stderr).toContain(says);
    }
    expect(existsSync(path.join(ground.folder, 'beyond-out'))).toBe(false);
  });

  it('warns of settings that an agent does not read, with their place, and goes on', async () => {
    const file = experiment('settings', { agents: ['nop'] });
    ground.write('experiments/settings/nop.yaml', 'harness: nop\nconfig:\n  model: m\n  max_turns: 5\n');
    const end = await examhall(['run', file, '--dry-run', ...ground.folderArgs]);
    expect(end.code).toBe(0);
    expect(end.stderr).toMatch(
      /^warning: \S+settings\/nop\.yaml:4:3: nop reads no such setting; it is dropped; got "max_turns"/u,
    );
    expect(end.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(end.stdout).toContain('units (1):');
  });

  it('gives the plan as one JSON object with --json', async () => {
    const args = ['--dry-run', '--json', '--task', 'e2e/word', ...ground.folderArgs];
    const end = await examhall(['run', experiment('dry'), ...args]);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(end.stdout)).toEqual({
      experiment: 'dry',
      output: path.join(outputRoot, 'dry'),
      concurrency: 4,
      units: ['oracle', 'nop'].map((agent) => ({ agent, model: null, task: 'e2e/word', variant: 0, trial: 1 })),
    });
    expect(existsSync(path.join(outputRoot, 'dry'))).toBe(false);
  });
});

describe('an experiment with many mistakes', () => {
  const says = [
    'many/experiment.yaml:3:5: unknown agent; got "oracel"',
    'many/experiment.yaml:6:12: unknown task; got "e2e/wrod"',
    'tasks/e2e/bad-card/task_card.json:1:',
    'many/experiment.yaml:8:12: no snapshot of ',
    'many/experiment.yaml:9:12: task "e2e/no-load" cannot be used; got TaskLoadError: ',
    'many/experiment.yaml:10:36: task "e2e/word" has no such variant; got 7; allowed: 0',
  ];

  it.each([{ args: ['--dry-run'] }, { args: [] }])('is told all of them at once, with $args', async ({ args }) => {
    writeTask(ground, 'e2e/bad-card');
    ground.write('tasks/e2e/bad-card/task_card.json', '{"vm": {"snapshot": "cpu-free-ubuntu",}}');
    writeTask(ground, 'e2e/no-load', { module: 'export const evaluate = () => 1;\n' });
    const tasks = ['wrod', 'bad-card', 'other-machine', 'no-load'].map((name) => [`e2e/${name}`, [0]] as const);
    const outputRoot = path.join(ground.folder, 'many-out');
    const file = experiment('many', { agents: ['oracel'], tasks: [...tasks, ['e2e/word', [0, 7]]], outputRoot });
    const end = await examhall(['run', file, ...ground.folderArgs, ...args]);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    const lines = end.stderr.trimEnd().split('\n');
    expect(lines.length, end.stderr).toBe(says.length);
    for (const text of says) expect(end.stderr).toContain(text);
    expect(existsSync(outputRoot)).toBe(false);
  });
});

describe('examhall', () => {
  it('lists tasks and agents of this repository and of the folders given', async () => {
    const end = await examhall(['list', ...ground.folderArgs]);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    for (const line of ['  e2e/word', '  life_sciences/plate_reader_qc', '  idle', '  oracle', '  scripted'])
      expect(end.stdout.split('\n')).toContain(line);
    const json = await examhall(['list', '--json']);
    const listed = JSON.parse(json.stdout) as { readonly tasks: readonly string[]; readonly agents: readonly string[] };
    expect(listed.tasks).toContain('business_finance/form_1040');
    expect(listed.tasks).not.toContain('e2e/word');
    expect(listed.agents).toEqual(['nop', 'oracle', 'scripted']);
  });

  it('says in doctor what is there, and what enables what is not', async () => {
    const end = await examhall(['doctor', '--json']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const { checks } = JSON.parse(end.stdout) as { readonly checks: readonly Readonly<Record<string, unknown>>[] };
    expect(checks.map(({ name }) => name)).toEqual(['node', 'isolation', 'disk', 'desktop', 'browser', 'java', 'git']);
    expect(checks[0]).toMatchObject({ state: 'ok', found: process.versions.node, enable: null });
    for (const { state, enable } of checks) expect(enable === null).toBe(state === 'ok');
    const text = await examhall(['doctor']);
    expect(text.code).toBe(0);
    expect(text.stdout).not.toContain('\u001b');
    expect(text.stdout).toContain(`ok       node       ${process.versions.node}\n`);
  });

  it('ends with 2 and points to --help for a command it does not have', async () => {
    const end = await examhall(['lst']);
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toContain("unknown command 'lst'");
    expect(end.stderr).toContain('(add --help for usage and examples)');
  });

  it('is started by npx through examhall.mjs', async () => {
    const end = await examhall(['--version'], { main: path.join(REPOSITORY, 'infra/cli/examhall.mjs') });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toMatch(/^\d+\.\d+\.\d+\n$/u);
  });
});
