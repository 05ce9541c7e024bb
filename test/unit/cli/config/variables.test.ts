import { describe, expect, it } from 'vitest';
import { formatProblem } from '#core/located';
import { experimentWith, failure, load } from '#test/unit/cli/config/config-folder';

const settable = 'allowed: a variable that is set in the environment or in the secrets file';

describe('${env:NAME}', () => {
  it('takes its type from the value, in keys and texts too', async () => {
    const agent = 'harness: ${env:A}_${env:B}\nconfig:\n  ${env:K}: ${env:N}\n  list: [${env:N}, "${env:N}"]\n';
    const { experiment } = await load({ 'agent.yaml': agent }, { env: { A: 'claude', B: 'code', K: 'turns', N: '7' } });
    expect(experiment.agents[0]).toMatchObject({ harness: 'claude_code', config: { turns: 7, list: [7, '7'] } });
  });

  it('is substituted in task lists of YAML but not of text', async () => {
    const yaml = await load(
      { ...experimentWith('tasks: t.yaml'), 't.yaml': '- path: ${env:D}/hello\n' },
      { env: { D: 'demo' } },
    );
    expect(yaml.experiment.tasks[0]?.path).toBe('demo/hello');
    const text = await load({ 'tasks.txt': 'demo/${env:D}\n' });
    expect(text.experiment.tasks[0]?.path).toBe('demo/${env:D}');
    expect(await failure({ 'tasks.txt': '${env:T}\n' })).toEqual([
      'tasks.txt:1:1: a task path has no domain; got "${env:T}"; allowed: <domain>/<task>, relative to the tasks folder; write it out: nothing is substituted in .txt lists (use a .yaml list for that)',
    ]);
  });

  it('need not be set in comments, wherever they are', async () => {
    const agent = '# ${env:X}\nharness: codex # ${env:X}\nconfig:\n  a: [b, # ${env:X}\n    c]\n  d: "#${env:S}"\n';
    const { experiment } = await load({ 'agent.yaml': agent }, { env: { S: 's' } });
    expect(experiment.agents[0]?.config).toEqual({ a: ['b', 'c'], d: '#s' });
  });

  it('is named with its place when it is not set, in texts that look like comments too', async () => {
    const text = 'harness: codex\nconfig:\n  a: x#${env:ONE}\n  b: |\n    # ${env:TWO}\n  c: [1, ${env:ONE}]\n';
    expect(await failure({ 'agent.yaml': text }, { env: { TWO: undefined } })).toEqual([
      `agent.yaml:3:8: environment variable ONE is not set; got \${env:ONE}; ${settable}; set ONE, or write the value in its place`,
      `agent.yaml:5:7: environment variable TWO is not set; got \${env:TWO}; ${settable}; set TWO, or write the value in its place`,
      `agent.yaml:6:10: environment variable ONE is not set; got \${env:ONE}; ${settable}; set ONE, or write the value in its place`,
    ]);
  });

  it('hides no other fault of the file when it is not set, and causes none', async () => {
    const text = 'name: x\nagent: ${env:A}\nenvironment: env.yaml\ntasks: tasks.txt\nconcurrency: ${env:C}\nfoo: 1\n';
    expect((await failure({ 'exp.yaml': text })).map((line) => line.split(';', 1)[0])).toEqual([
      'exp.yaml:2:8: environment variable A is not set',
      'exp.yaml:5:14: environment variable C is not set',
      'exp.yaml:6:1: unknown key in the experiment file',
    ]);
  });

  it('keeps lines and columns as written, also behind values of many lines', async () => {
    const env = { LONG: 'a\n\n\n  b', EMPTY: '' };
    const text = 'harness: codex\nconfig: {a: "${env:LONG}", b: ${env:EMPTY}}\nexecutor: ${env:EMPTY}vm\nfoo: 1\n';
    expect((await failure({ 'agent.yaml': text }, { env })).map((line) => line.split(';', 2).join(';'))).toEqual([
      'agent.yaml:3:23: "executor" is not one of the allowed values; got "vm"',
      'agent.yaml:4:1: unknown key in the agent file; got "foo"',
    ]);
  });

  it('shows where a wrong value came from, but never one that may be secret', async () => {
    const files = {
      ...experimentWith('concurrency: ${env:N}'),
      'agent.yaml': 'harness: codex\nexecutor: ${env:API_KEY}\n',
      'env.yaml': 'provider: ${env:FROM_FILE}\n',
      '.env': 'FROM_FILE=hush\n',
    };
    const lines = await failure(files, { env: { N: 'many', API_KEY: 'hush' } });
    expect(lines.map((line) => /got [^;]*/.exec(line)?.[0])).toEqual([
      'got "many" (from ${env:N})',
      'got a value that is not shown (from ${env:API_KEY})',
      'got a value that is not shown (from ${env:FROM_FILE})',
    ]);
    expect(lines.join('\n')).not.toContain('hush');
  });

  it('is warned about when its name is spelled so that upstream passes it over', async () => {
    const { warnings } = await load({ 'agent.yaml': 'harness: codex\nmodel: ${env:model}\n# ${env:model}\n' });
    expect(warnings.map(formatProblem)).toEqual([
      'agent.yaml:2:8: this is not substituted; got "${env:model}"; allowed: ${env:NAME} with a name of upper-case letters, digits and _; correct the name',
    ]);
  });
});

describe('secrets', () => {
  const agent = { 'agent.yaml': 'harness: codex\nmodel: ${env:M}\n' };
  const model = async (
    files: Record<string, string>,
    env: Record<string, string>,
  ): Promise<string | null | undefined> => (await load({ ...agent, ...files }, { env })).experiment.agents[0]?.model;

  it('in secret_file overwrite the environment', async () => {
    const files = { ...experimentWith('secret_file: s/keys'), 's/keys': 'M=file\n', '.env': 'M=dot\n' };
    expect(await model(files, { M: 'shell' })).toBe('file');
  });

  it('in secret/.env, then .env, only fill in what is not set', async () => {
    const files = { 'secret/.env': 'M=first\n', '.env': 'M=second\nN=n\n' };
    expect(await model(files, { M: 'shell' })).toBe('shell');
    expect(await model(files, {})).toBe('first');
    expect((await load({ ...agent, ...files })).env).toEqual({ M: 'first', N: 'n' });
  });

  it('are passed over in silence when the file does not exist, without looking further', async () => {
    const files = { ...experimentWith('secret_file: none.env'), '.env': 'M=dot\n' };
    expect(await model(files, { M: 'shell' })).toBe('shell');
    expect(await failure({ ...agent, ...files })).toHaveLength(1);
  });

  it('are looked for as usual when secret_file is null', async () => {
    expect(await model({ ...experimentWith('secret_file: ~'), '.env': 'M=dot\n' }, {})).toBe('dot');
  });

  it('are found before variables are substituted, which is warned about', async () => {
    const files = { ...experimentWith('secret_file: ${env:WHERE}/keys'), 's/keys': 'M=file\n' };
    const { warnings, experiment } = await load({ ...agent, ...files }, { env: { WHERE: 's', M: 'shell' } });
    expect(experiment.agents[0]?.model).toBe('shell');
    expect(warnings.map(formatProblem)).toEqual([
      'exp.yaml:5:14: "secret_file" is read before variables are substituted, so this names no file; got "${env:WHERE}/keys"; allowed: a path without ${env:NAME}; write the path out',
    ]);
  });
});
