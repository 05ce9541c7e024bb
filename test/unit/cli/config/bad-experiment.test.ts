import { describe, expect, it } from 'vitest';
import { loadExperiment } from '#cli/config/load-experiment';
import { configFolder, experimentWith, failure, messages } from '#test/unit/cli/config/config-folder';

const keys =
  'name, secret_file, agent, agents, environment, tasks, output, concurrency, cleanup_mode, prompt_suffix, wall_time_s, auto_resume, max_attempts, trials, privilege, network, budget_usd, deadline_s';
const bothAgents = '"agents" (a list of paths of agent files) or "agent" (one path), not both';
const nameRule = 'one folder name: any letters and spaces, but no "/", no control character, not "." or ".."';

/** What line 4 of the experiment says, and the whole message it earns. */
const badLines: readonly (readonly [string, string])[] = [
  [
    'concurency: 2',
    `exp.yaml:5:1: unknown key in the experiment file; got "concurency"; allowed: ${keys}; remove it, or write "concurrency" if you meant that`,
  ],
  [
    'artifacts_path: local',
    `exp.yaml:5:1: unknown key in the experiment file; got "artifacts_path"; allowed: ${keys}; remove it`,
  ],
  [
    'reliability: {min_trials: 3}',
    'exp.yaml:5:1: the "reliability" block (adaptive trials) is not supported; got a mapping with key min_trials; allowed: "trials", a fixed number of trials for each unit; remove the block and write "trials: <n>"',
  ],
  [
    'concurrency: 0',
    'exp.yaml:5:14: "concurrency" is not a whole number 1 or more; got 0; allowed: a whole number 1 or more; write plain digits, or remove the key for 1',
  ],
  [
    'concurrency: 2.5',
    'exp.yaml:5:14: "concurrency" is not a whole number 1 or more; got 2.5; allowed: a whole number 1 or more; write plain digits, or remove the key for 1',
  ],
  [
    'concurrency: yes',
    'exp.yaml:5:14: "concurrency" is not a whole number 1 or more; got true; allowed: a whole number 1 or more; write plain digits, or remove the key for 1',
  ],
  [
    'concurrency:',
    'exp.yaml:5:13: "concurrency" has no value; got null; allowed: a whole number; write one, or remove the key',
  ],
  [
    'wall_time_s: 1e3',
    'exp.yaml:5:14: "wall_time_s" is not a whole number 1 or more; got "1e3"; allowed: a whole number 1 or more; write plain digits, or remove the key for each task card\'s own timeout',
  ],
  [
    'max_attempts: 4',
    'exp.yaml:5:15: "max_attempts" is not a whole number from 1 to 3; got 4; allowed: a whole number from 1 to 3; write plain digits, or remove the key for 3',
  ],
  [
    'max_attempts: true',
    'exp.yaml:5:15: "max_attempts" is not a whole number from 1 to 3; got true; allowed: a whole number from 1 to 3; write plain digits, or remove the key for 3',
  ],
  [
    'auto_resume: 1',
    'exp.yaml:5:14: "auto_resume" is not true or false; got 1; allowed: true, false; write true or false, or remove the key for true',
  ],
  [
    'cleanup_mode: remove',
    'exp.yaml:5:15: "cleanup_mode" is not one of the allowed values; got "remove"; allowed: delete, stop, keep, detach; choose one of them, or remove the key',
  ],
  [
    'prompt_suffix: [a]',
    'exp.yaml:5:16: "prompt_suffix" is not text; got a list of 1; allowed: text; write it as text; put quotes around words such as on, yes and 1.5, which YAML 1.1 does not read as text',
  ],
  [
    'output: runs',
    'exp.yaml:5:9: "output" is not a mapping; got "runs"; allowed: a mapping of keys to values; write "output" as "key: value" lines',
  ],
  [
    'output: {rot: runs}',
    'exp.yaml:5:10: unknown key in "output"; got "rot"; allowed: root; remove it, or write "root" if you meant that',
  ],
  [
    'output: {root: ""}',
    'exp.yaml:5:16: "output.root" is empty; got ""; allowed: a path, relative to the current folder or absolute; write one, or remove the key for .logs/ale',
  ],
  [
    'output: {root: ~bob/runs}',
    'exp.yaml:5:16: "output.root" is in the home folder of another user; got "~bob/runs"; allowed: a path, absolute, below ~/ or relative to the current folder; write the path out',
  ],
  [
    'trials: 0',
    'exp.yaml:5:9: "trials" is not a whole number from 1 to 1000; got 0; allowed: a whole number from 1 to 1000; write plain digits, or remove the key for 1',
  ],
  [
    'budget_usd: -1',
    'exp.yaml:5:13: "budget_usd" is not a number above 0; got -1; allowed: a number above 0; write plain digits (YAML 1.1 reads 1e3 as text)',
  ],
  [
    'budget_usd: .inf',
    'exp.yaml:5:13: "budget_usd" is not a number above 0; got Infinity; allowed: a number above 0; write plain digits (YAML 1.1 reads 1e3 as text)',
  ],
  [
    'privilege: root',
    'exp.yaml:5:12: "privilege" is not one of the allowed values; got "root"; allowed: upstream, restricted; choose one of them, or remove the key',
  ],
  [
    'network: sealed',
    'exp.yaml:5:10: network "sealed" is not available: it needs the LLM gateway, which does not exist yet; got "sealed"; allowed: open; write network: open, or remove the key',
  ],
  [
    'network: allowlist',
    'exp.yaml:5:10: network "allowlist" is not available: no host-level filter is enforced outside the sandbox yet; got "allowlist"; allowed: open; write network: open, or remove the key',
  ],
  [
    'network: off',
    'exp.yaml:5:10: network "off" is not available: an agent needs a route to its model, and the LLM gateway that would be the only one does not exist yet; got false; allowed: open; write network: open, or remove the key (YAML 1.1 reads a bare off as false)',
  ],
  [
    'agents: [agent.yaml]',
    `exp.yaml:2:1: the experiment has both "agent" and "agents"; got agent "agent.yaml" and agents a list of 1; allowed: ${bothAgents}; remove one of them`,
  ],
];

describe('a bad line of an experiment', () => {
  it.each(badLines)('%s', async (line, message) => {
    expect((await failure(experimentWith(line))).at(0)).toBe(message);
  });
});

const badNames: readonly (readonly [string, string, string])[] = [
  ['name: a/b', 'exp.yaml:4:7', 'the experiment\'s name has a "/"; got "a/b"'],
  ['name: ..', 'exp.yaml:4:7', 'the experiment\'s name is a relative folder; got ".."'],
  ['name: "a\\0b"', 'exp.yaml:4:7', 'the experiment\'s name has a control character; got "a\\u0000b"'],
  ['name: " "', 'exp.yaml:4:7', 'the experiment\'s name is empty; got " "'],
  [
    `name: ${'é'.repeat(128)}`,
    'exp.yaml:4:7',
    `the experiment's name is longer than 255 bytes; got "${'é'.repeat(77)}..."`,
  ],
];

describe('a bad name', () => {
  it.each(badNames)('%s', async (line, place, fault) => {
    expect(await failure(experimentWith(line))).toEqual([
      `${place}: ${fault}; allowed: ${nameRule}; choose a name that can be a folder`,
    ]);
  });
});

describe('an experiment that lacks things', () => {
  it('is told every key it needs', async () => {
    expect(await failure({ 'exp.yaml': '\n' })).toEqual([
      `exp.yaml:1:1: missing required key "name"; got nothing; allowed: ${nameRule}; add "name: <name of the run folder>"`,
      `exp.yaml:1:1: missing required key "agents"; got nothing; allowed: ${bothAgents}; add "agents:" with at least one path`,
      'exp.yaml:1:1: missing required key "environment"; got nothing; allowed: the path of an environment file; add it',
      'exp.yaml:1:1: missing required key "tasks"; got nothing; allowed: the path of a .txt, .yaml or .yml list, or a list of {path, variants} entries; add it',
    ]);
  });

  it('is told when it is no mapping', async () => {
    expect(await failure({ 'exp.yaml': '- a\n' })).toContain(
      'exp.yaml:1:1: the experiment file is not a mapping; got a list of 1; allowed: a mapping of keys to values; write the experiment file as "key: value" lines',
    );
  });

  it('is refused an inline agent', async () => {
    expect(await failure(experimentWith('agent: {harness: codex}'))).toEqual([
      'exp.yaml:4:8: a reference to a file is not a path; got a mapping with key harness; allowed: the path of an agent file (inline settings are not accepted); move the settings to a file of their own and write its path',
    ]);
  });

  it('is refused an empty list of agents', async () => {
    const text = 'name: x\nagents: []\nenvironment: env.yaml\ntasks: tasks.txt\n';
    expect(await failure({ 'exp.yaml': text })).toEqual([
      'exp.yaml:2:9: "agents" is not a list of at least one path; got an empty list; allowed: a non-empty list of paths of agent files; write each as "- path/to/agent.yaml"',
    ]);
  });

  it('is told when its own file does not exist', async () => {
    const folder = await configFolder();
    expect(await messages(folder, loadExperiment('none.yaml', { env: {}, cwd: folder }))).toEqual([
      'none.yaml:1:1: the experiment file does not exist; got "<folder>/none.yaml"; allowed: the path of a readable YAML file; give the path of an experiment file',
    ]);
  });
});

describe('the error', () => {
  it('lays everything to the caller, under its own name', async () => {
    const folder = await configFolder({ 'exp.yaml': 'nam: x\n' });
    await expect(loadExperiment('exp.yaml', { env: {}, cwd: folder })).rejects.toMatchObject({
      name: 'ConfigError',
      blame: 'caller',
      problems: [{ file: 'exp.yaml', line: 1, column: 1, path: ['nam'], got: '"nam"' }, {}, {}, {}, {}],
    });
  });
});
