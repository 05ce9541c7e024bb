import { mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadExperiment } from '#cli/config/load-experiment';
import { formatProblem } from '#core/located';
import { enumerateUnits } from '#core/matrix';
import { dryRunBlock } from '#core/upstream-text';
import { configFolder, experimentWith, failure, load, smallest } from '#test/unit/cli/config/config-folder';

const fixtures = fileURLToPath(new URL('../../../fixtures/config/', import.meta.url));
const upstream = path.join(fixtures, 'upstream');

describe('upstream-shaped experiments', () => {
  it.each(['matrix', 'inline', 'listed'])('%s.yaml prints the dry run that upstream prints', async (name) => {
    const env = { GCP_SA_KEY: '/keys/vm.json', GCP_PROJECT: 'from the shell' };
    const { experiment, warnings } = await loadExperiment(`${name}.yaml`, { env, cwd: upstream });
    const expected = await readFile(path.join(upstream, `${name}.dry-run.txt`), 'utf8');
    expect(`${dryRunBlock(experiment, enumerateUnits(experiment))}\n`).toBe(expected);
    expect(warnings).toEqual([]);
  });

  it('are read key by key', async () => {
    const { experiment, env } = await loadExperiment('matrix.yaml', { env: { GCP_SA_KEY: 'k' }, cwd: upstream });
    expect(experiment).toMatchObject({
      name: 'nightly matrix',
      file: path.join(upstream, 'matrix.yaml'),
      outputRoot: path.join(upstream, 'runs/ale'),
      outputRootText: 'runs//ale/',
      concurrency: 4,
      cleanupMode: 'stop',
      wallTimeSeconds: 5400,
      autoResume: false,
      maxAttempts: 2,
      promptSuffix: 'Work alone.\n# this line is part of the prompt, not a comment\n',
      trials: 1,
      privilege: null,
      network: null,
      budgetUsd: null,
      deadlineSeconds: null,
    });
    expect(
      experiment.agents.map(({ id, harness, className, model, executor }) => [id, harness, className, model, executor]),
    ).toEqual([
      ['codex', 'codex', null, 'openai/gpt-5.4', null],
      ['Claude Direct', 'claude_code', null, 'anthropic/claude-sonnet-4.6', 'sandbox'],
    ]);
    expect(experiment.agents[1]).toMatchObject({
      file: path.join(upstream, 'agents/claude.yaml'),
      at: { file: 'matrix.yaml', line: 7, column: 5 },
      config: {
        provider: 'direct',
        model: 'anthropic/claude-sonnet-4.6',
        max_budget_usd: null,
        api_key: 'not-a-real-key',
      },
    });
    expect(experiment.tasks.map(({ path: task, at }) => [task, at.line, at.column])).toEqual([
      ['demo/hello', 2, 1],
      ['demo/hello_win', 3, 3],
      ['health_medicine/dose_plan_7', 5, 1],
    ]);
    expect(env).toEqual({
      GCP_SA_KEY: 'k',
      GCP_PROJECT: 'demo-project',
      CLAUDE_MODEL: 'anthropic/claude-sonnet-4.6',
      CLAUDE_KEY: 'not-a-real-key',
    });
  });

  it('may be named by an absolute path, from any folder', async () => {
    const { experiment } = await loadExperiment(path.join(upstream, 'inline.yaml'), { env: {}, cwd: fixtures });
    expect(experiment.outputRoot).toBe(path.join(fixtures, '.logs/ale'));
    expect(experiment.environment).toMatchObject({
      file: path.join(upstream, 'environments/static.yaml'),
      static: {
        endpoint: 'http://192.0.2.7:5000',
        image: 'ale-win10',
        vmId: 'desk-1',
        cleanupOnRelease: false,
        cleanupScript: null,
      },
    });
    expect(experiment.tasks.map(({ at }) => at.file)).toEqual(['upstream/inline.yaml', 'upstream/inline.yaml']);
  });
});

describe('our own keys and providers', () => {
  it('load beside upstream keys', async () => {
    const folder = path.join(fixtures, 'local');
    const { experiment, warnings } = await loadExperiment('process.yaml', { env: {}, cwd: folder });
    expect(warnings).toEqual([]);
    expect(experiment).toMatchObject({
      trials: 2,
      privilege: 'restricted',
      network: 'open',
      budgetUsd: 2.5,
      deadlineSeconds: 3600,
    });
    expect(
      Object.entries(experiment.environment.snapshots).map(([tag, { provider, resolution }]) => [
        tag,
        provider,
        resolution,
      ]),
    ).toEqual([
      ['cpu-free-ubuntu', 'process', null],
      ['cpu-free', 'desktop', '1024x768'],
      ['kasm', 'static', null],
    ]);
    expect(enumerateUnits(experiment)).toHaveLength(8);
  });
});

describe('paths', () => {
  it('below ~ lie in the home folder, others beside the experiment', async () => {
    const home = await configFolder({ 'a.yaml': smallest['agent.yaml'] ?? '', 'sub/tasks.yml': '[{path: d/t}]\n' });
    const text = `name: x\nagent: ~/a.yaml\nenvironment: env.yaml\ntasks: ${home}/sub/tasks.yml\noutput: {root: ~/runs}\n`;
    const { experiment } = await load({ 'exp.yaml': text }, { env: { HOME: home } });
    expect(experiment.agents[0]?.file).toBe(path.join(home, 'a.yaml'));
    expect(experiment.tasks[0]?.path).toBe('d/t');
    expect(experiment.outputRoot).toBe(path.join(home, 'runs'));
  });

  it('are relative to the file a link leads to, output.root to the current folder', async () => {
    const folder = await configFolder(
      Object.fromEntries(Object.entries(smallest).map(([name, text]) => [`real/${name}`, text])),
    );
    await mkdir(path.join(folder, 'links'));
    await symlink(path.join(folder, 'real', 'exp.yaml'), path.join(folder, 'links', 'exp.yaml'));
    const { experiment } = await loadExperiment('exp.yaml', { env: {}, cwd: path.join(folder, 'links') });
    expect(experiment.agents[0]?.file).toBe(path.join(folder, 'real', 'agent.yaml'));
    expect(experiment.outputRoot).toBe(path.join(folder, 'links', '.logs', 'ale'));
  });

  it('may hold any letters and spaces, as may the name', async () => {
    const { experiment } = await load({
      ...experimentWith('agent: "mein Ordner/agent ü.yaml"'),
      'mein Ordner/agent ü.yaml': 'harness: nop\n',
    });
    expect(experiment.agents[0]?.harness).toBe('nop');
    const named = await load(experimentWith('name: Größe 試験 №1 …'));
    expect(named.experiment.name).toBe('Größe 試験 №1 …');
  });

  it('become text when YAML reads them as whole numbers', async () => {
    expect((await load(experimentWith('name: 20260611'))).experiment.name).toBe('20260611');
    expect((await load(experimentWith('name: 2026-06-11'))).experiment.name).toBe('2026-06-11');
  });
});

describe('findings that span files', () => {
  it('name both places of a duplicate task', async () => {
    expect(await failure({ 'tasks.txt': 'demo/hello\n# again\n  demo/hello # twice\n' })).toEqual([
      'tasks.txt:3:3: the same task and variant is listed at tasks.txt:1:1 and here; got "demo/hello" v0 and "demo/hello" v0; allowed: each task and variant once, compared as folder names; remove one (write "trials: <n>" to run units several times)',
    ]);
  });

  it('name both places of agents that share a folder', async () => {
    const text = 'name: x\nagents: [a.yaml, b.yaml]\nenvironment: env.yaml\ntasks: tasks.txt\n';
    const agents = {
      'a.yaml': 'harness: claude-code\nmodel: m.1\n',
      'b.yaml': 'harness: x\nid: Claude_Code\nmodel: M/1\n',
    };
    expect(await failure({ 'exp.yaml': text, ...agents })).toEqual([
      'exp.yaml:2:18: agents at exp.yaml:2:10 and here give the same units; got "claude-code" (model "m.1") and "Claude_Code" (model "M/1"), both in folder claude_code/m-1; allowed: one agent for each id and model, compared as folder names; remove one, or give it an "id" of its own',
    ]);
  });

  it('refuse a cleanup mode that the provider of the environment cannot do', async () => {
    const env = 'provider: static\nendpoint: http://127.0.0.1:5000\n';
    expect(await failure({ ...experimentWith('cleanup_mode: stop'), 'env.yaml': env })).toEqual([
      'exp.yaml:5:15: provider static cannot be asked for cleanup mode stop: its machines are switched on and off by whoever gave them; got stop; allowed: delete, keep, detach; choose one of them, or remove the key for delete',
    ]);
  });

  it('refuse two units at once on one static machine', async () => {
    const env = 'provider: static\nendpoint: http://127.0.0.1:5000\n';
    expect(await failure({ ...experimentWith('concurrency: 2'), 'env.yaml': env })).toEqual([
      'exp.yaml:5:14: the environment has a static sandbox, which is one machine; got concurrency 2; allowed: 1; write concurrency: 1',
    ]);
  });

  it('warn about settings a harness does not read', async () => {
    const agent = 'harness: codex\nconfig: {max_turn: 3, provider: direct, model: m}\n';
    const { warnings } = await load({ 'agent.yaml': agent }, { agentConfigKeys: { codex: ['max_turns', 'provider'] } });
    expect(warnings.map(formatProblem)).toEqual([
      'agent.yaml:2:10: codex reads no such setting; it is dropped; got "max_turn"; allowed: max_turns, provider, model; remove it, or write "max_turns" if you meant that',
    ]);
  });

  it('come together, file by file and from top to bottom', async () => {
    const places = (
      await failure({
        ...experimentWith('max_attempts: 9'),
        'agent.yaml': 'x: 1\nharness: codex\ny: 1\n',
        'tasks.txt': '/a/b\n..\n',
      })
    ).map((line) => line.split(': ', 1)[0]);
    expect(places).toEqual(['exp.yaml:5:15', 'agent.yaml:1:1', 'agent.yaml:3:1', 'tasks.txt:1:1', 'tasks.txt:2:1']);
  });
});
