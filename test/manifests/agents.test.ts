import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createChildModuleRunner } from '#adapters/child-module-runner';
import type { PublishedAgent } from '#core/catalog';
import type { TrajectoryDraft } from '#core/trajectory-types';
import { listAgentIds, listTaskIds } from '#local/publish/find-folders';
import { publishAgent } from '#local/publish/publish-agent';
import type { ModuleRunner } from '#ports/module-runner';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';
import { bundle, REPOSITORY } from '../../infra/bundler.ts';

const agentsFolder = path.join(REPOSITORY, 'agents');
const agentIds = await listAgentIds(agentsFolder);
const store = new InMemoryArtifactStore();
let cacheDir: string;
let runner: ModuleRunner;
let work: string;

beforeAll(async () => {
  cacheDir = await mkdtemp(path.join(tmpdir(), 'examhall-agents-'));
  const entry = await bundle(path.join(REPOSITORY, 'lambdas/shared/adapters/child-entry.ts'), { outDir: cacheDir });
  runner = createChildModuleRunner({ childEntry: entry.path });
});
afterAll(() => rm(cacheDir, { recursive: true, force: true }));
beforeEach(async () => {
  work = await mkdtemp(path.join(tmpdir(), 'examhall-work-'));
});
afterEach(() => rm(work, { recursive: true, force: true }));

interface Launched {
  readonly agent: PublishedAgent;
  readonly exitCode: number | null;
  readonly stderr: string;
  readonly draft: TrajectoryDraft;
  output(name: string): Promise<string>;
}

/** Launches an agent as a sandbox does, in folders that hold the given files, and parses what it left. */
async function launch(agentId: string, files: Readonly<Record<string, string>> = {}): Promise<Launched> {
  const agent = await publishAgent(path.join(agentsFolder, agentId), { store, cacheDir });
  const given = { 'work/prompt.txt': 'Do it.', 'task/input/a.txt': 'given', 'task/software/x': '', ...files };
  for (const [name, text] of Object.entries(given)) {
    await mkdir(path.dirname(path.join(work, name)), { recursive: true });
    await writeFile(path.join(work, name), text);
  }
  await mkdir(path.join(work, 'task/output'), { recursive: true });
  const script = path.join(work, 'work/agent/launch.mjs');
  await store.getFile({ bucket: 'tasks', key: agent.launch.key }, script);
  const { exitCode, stderr } = await runNode(script, path.join(work, 'work'));
  const modulePath = path.join(cacheDir, `${agentId}-parser.mjs`);
  await store.getFile({ bucket: 'tasks', key: agent.parser.key }, modulePath);
  const report = await runner.run({
    modulePath,
    phase: 'parse',
    input: { outcome: 'completed', startedAt: '2026-01-01T00:00:00.000Z' },
    folders: { originLog: path.join(work, 'work') },
    limits: { timeoutSeconds: 20, memoryMiB: 128, outputLimitKiB: 16 },
  });
  expect(report).toMatchObject({ end: 'returned', valueKind: 'json' });
  const output = (name: string): Promise<string> => readFile(path.join(work, 'task/output', name), 'utf8');
  return { agent, exitCode, stderr, draft: report.value as TrajectoryDraft, output };
}

function runNode(script: string, cwd: string): Promise<{ readonly exitCode: number | null; readonly stderr: string }> {
  const task = path.join(work, 'task');
  const child = spawn(process.execPath, [script], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 20_000,
    env: {
      PATH: process.env['PATH'] ?? '',
      TASK_ROOT: task,
      TASK_INPUT: path.join(task, 'input'),
      TASK_SOFTWARE: path.join(task, 'software'),
      TASK_OUTPUT: path.join(task, 'output'),
      EXAMHALL_VARIANT: 'base',
    },
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, stderr }));
  });
}

describe('every agent', () => {
  it('is one of those the README names', async () => {
    const readme = await readFile(path.join(agentsFolder, 'README.md'), 'utf8');
    expect(agentIds.length).toBeGreaterThan(0);
    for (const id of agentIds) expect(readme).toMatch(new RegExp(`^\\| \`${id}\` +\\|`, 'm'));
  });

  it.each(agentIds)('%s can be published and has a README', async (id) => {
    const agent = await publishAgent(path.join(agentsFolder, id), { store, cacheDir });
    expect(agent.agentId).toBe(id);
    await expect(access(path.join(agentsFolder, id, 'README.md'))).resolves.toBeUndefined();
  });

  it('that is given solutions is the oracle alone', async () => {
    const agents = await Promise.all(
      agentIds.map((id) => publishAgent(path.join(agentsFolder, id), { store, cacheDir })),
    );
    expect(agents.filter(({ manifest }) => manifest.stages.length > 0).map(({ agentId }) => agentId)).toEqual([
      'oracle',
    ]);
  });

  it('that replays recordings has one for every task, and for nothing else', async () => {
    const { recordings } = await publishAgent(path.join(agentsFolder, 'scripted'), { store, cacheDir });
    expect(Object.keys(recordings).sort()).toEqual(await listTaskIds(path.join(REPOSITORY, 'tasks')));
  });
});

describe('nop', () => {
  it('ends at once and leaves nothing', async () => {
    const { exitCode, draft } = await launch('nop');
    expect(exitCode).toBe(0);
    expect(draft).toEqual({ steps: [] });
  });
});

describe('oracle', () => {
  it('runs solve.mjs in the folder of the task', async () => {
    const solve = `import { copyFileSync } from 'node:fs'; copyFileSync('input/a.txt', 'output/b.txt'); console.log('done');`;
    const { exitCode, draft, output } = await launch('oracle', { 'work/solution/solve.mjs': solve });
    expect(exitCode).toBe(0);
    expect(await output('b.txt')).toBe('given');
    expect(draft.steps).toMatchObject([{ source: 'agent', observation: { results: [{ content: 'done\n' }] } }]);
  });

  it('runs solve.sh, or copies a solution that has neither', async () => {
    const shell = await launch('oracle', { 'work/solution/solve.sh': 'cp input/a.txt output/c.txt' });
    expect([shell.exitCode, await shell.output('c.txt')]).toEqual([0, 'given']);
    await rm(path.join(work, 'work'), { recursive: true });
    const files = await launch('oracle', { "work/solution/deep/it's.txt": 'solved' });
    expect([files.exitCode, await files.output("deep/it's.txt")]).toEqual([0, 'solved']);
  });

  it('fails when the solution fails, or there is none', async () => {
    const failing = await launch('oracle', { 'work/solution/solve.mjs': 'process.exit(3);' });
    expect(failing.exitCode).toBe(1);
    expect(failing.draft.steps).toMatchObject([
      { observation: { results: [{ is_error: true, content: 'exit code 3' }] } },
    ]);
    await rm(path.join(work, 'work'), { recursive: true });
    const without = await launch('oracle');
    expect([without.exitCode, without.stderr]).toEqual([1, expect.stringContaining('this task has none')]);
  });
});

describe('scripted', () => {
  const recording = (steps: readonly object[]): Readonly<Record<string, string>> => ({
    'work/agent/recording.json': JSON.stringify({ version: 1, task: 'demo/hello', steps }),
  });

  it('replays its recording and tells each call with what it printed', async () => {
    const steps = [
      { run: 'cat "$TASK_INPUT/a.txt"', note: 'Look.' },
      { run: 'pwd > "$TASK_OUTPUT/pwd.txt"; "$NODE" --version >&2' },
    ];
    const { exitCode, draft, output } = await launch('scripted', recording(steps));
    expect(exitCode).toBe(0);
    expect(await output('pwd.txt')).toBe(`${path.join(work, 'task')}\n`);
    expect(draft.steps).toMatchObject([
      {
        source: 'agent',
        message: 'Look.',
        tool_calls: [
          { tool_call_id: 'call_1', function_name: 'shell', arguments: { command: 'cat "$TASK_INPUT/a.txt"' } },
        ],
        observation: { results: [{ source_call_id: 'call_1', content: 'given' }] },
      },
      { observation: { results: [{ source_call_id: 'call_2', content: `${process.version}\n` }] } },
    ]);
  });

  it('takes the steps of its variant first', async () => {
    const file = {
      version: 1,
      task: 'demo/hello',
      steps: [{ run: 'false' }],
      variants: { base: { steps: [{ run: 'true' }] } },
    };
    const { exitCode } = await launch('scripted', { 'work/agent/recording.json': JSON.stringify(file) });
    expect(exitCode).toBe(0);
  });

  it('stops at the first call that fails, and keeps what was done', async () => {
    const { exitCode, draft, stderr } = await launch('scripted', recording([{ run: 'exit 7' }, { run: 'true' }]));
    expect(exitCode).toBe(1);
    expect(stderr).toContain('step 1 of 2 failed: it ended with 7: exit 7');
    expect(draft.steps).toHaveLength(1);
  });

  it('fails without a recording', async () => {
    const { exitCode, stderr } = await launch('scripted');
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('there is no recording of this task')]);
  });

  it('has a transcript that may be cut anywhere', async () => {
    const { draft } = await launch('scripted', {
      ...recording([{ run: 'true' }]),
      'work/transcript.jsonl': '{"id":"call_0","started\n[]\n',
    });
    expect(draft.steps).toHaveLength(1);
    expect(draft.extra).toEqual({ unreadable_transcript_lines: 2 });
  });
});
