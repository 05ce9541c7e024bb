import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadExperiment } from '#cli/config/load-experiment';
import { readFault } from '#cli/config/read-text';
import { configFolder, experimentWith, failure, messages, smallest } from '#test/unit/cli/config/config-folder';

const readable =
  'allowed: the path of a readable file, absolute, below ~/ or relative to <folder>; correct the path, or create the file';

describe('a file that cannot be read', () => {
  it('is named where the experiment names it', async () => {
    const text = 'name: x\nagents:\n  - a.yaml\n  - agent.yaml\nenvironment: e.yaml\ntasks: t.txt\n';
    expect(await failure({ 'exp.yaml': text })).toEqual([
      `exp.yaml:3:5: the agent file does not exist; got "a.yaml"; ${readable}`,
      `exp.yaml:5:14: the environment file does not exist; got "e.yaml"; ${readable}`,
      `exp.yaml:6:8: the task list file does not exist; got "t.txt"; ${readable}`,
    ]);
  });

  it('may not be a folder, a device or a loop of links', async () => {
    const folder = await configFolder({
      ...smallest,
      'exp.yaml': 'name: x\nagents: [agents, loop.yaml, /dev/zero]\nenvironment: env.yaml\ntasks: tasks.txt\n',
    });
    await mkdir(path.join(folder, 'agents'));
    await symlink('loop.yaml', path.join(folder, 'loop.yaml'));
    expect(await messages(folder, loadExperiment('exp.yaml', { env: {}, cwd: folder }))).toEqual([
      `exp.yaml:2:10: the agent file is a folder; got "agents"; ${readable}`,
      `exp.yaml:2:18: the agent file is a loop of symbolic links; got "loop.yaml"; ${readable}`,
      `exp.yaml:2:29: the agent file is not a regular file; got "/dev/zero"; ${readable}`,
    ]);
  });

  it('may not be larger than 4 MiB, nor anything but UTF-8', async () => {
    const folder = await configFolder({ ...smallest, 'tasks.txt': '#'.repeat(4 * 1024 * 1024 + 1) });
    await writeFile(path.join(folder, 'agent.yaml'), Uint8Array.of(0x61, 0x3a, 0x20, 0xff, 0xfe));
    expect(await messages(folder, loadExperiment('exp.yaml', { env: {}, cwd: folder }))).toEqual([
      `exp.yaml:2:8: the agent file is not UTF-8 text; got "agent.yaml"; ${readable}`,
      `exp.yaml:4:8: the task list file is larger than 4194304 bytes (4194305); got "tasks.txt"; ${readable}`,
    ]);
  });

  it.each([
    ['EACCES', 'may not be read (permission denied)'],
    ['EPERM', 'may not be read (permission denied)'],
    ['ENOTDIR', 'does not exist'],
    ['ENAMETOOLONG', 'has a name that is too long'],
    ['EIO', 'cannot be read (input/output error)'],
  ])('says why: %s', (code, fault) => {
    expect(readFault(Object.assign(new Error('input/output error'), { code }))).toBe(fault);
  });

  it('may not lie below a file, nor have a name no file can have', async () => {
    const long = 'x'.repeat(300);
    const text = `name: x\nagents: [agent.yaml/a, ${long}]\nenvironment: env.yaml\ntasks: tasks.txt\n`;
    expect((await failure({ 'exp.yaml': text })).map((line) => line.split(';', 1)[0])).toEqual([
      'exp.yaml:2:10: the agent file does not exist',
      'exp.yaml:2:24: the agent file has a name that is too long',
    ]);
  });

  it('is not looked for in the home of another user', async () => {
    expect(await failure(experimentWith('agent: ~bob/agent.yaml'))).toEqual([
      `exp.yaml:4:8: the agent file is in the home folder of another user; got "~bob/agent.yaml"; ${readable}`,
    ]);
  });

  it('must be a list of a known kind', async () => {
    expect(await failure(experimentWith('tasks: tasks.json'))).toEqual([
      'exp.yaml:4:8: the task list has an unknown kind of file name; got "tasks.json"; allowed: .txt, .yaml, .yml; rename the list',
    ]);
  });
});

describe('an agent file', () => {
  const keys = 'harness, class, model, id, executor, config';

  it('has all its faults reported at once', async () => {
    const text = 'harness: codex\nclass: a.B\nmodel: 4.1\nexecutor: vm\nconfig: [x]\nmodle: y\n';
    expect(await failure({ 'agent.yaml': text })).toEqual([
      'agent.yaml:2:1: the agent has both "harness" and "class"; got harness "codex" and class "a.B"; allowed: exactly one of them; remove one',
      'agent.yaml:3:8: the model is not text; got 4.1; allowed: the name of a model as text; write it as text, in quotes if it looks like a number or a truth value',
      'agent.yaml:4:11: "executor" is not one of the allowed values; got "vm"; allowed: sandbox, local, docker; choose one of them, or remove the key',
      'agent.yaml:5:9: "config" is not a mapping; got a list of 1; allowed: a mapping of keys to values; write "config" as "key: value" lines',
      `agent.yaml:6:1: unknown key in the agent file; got "modle"; allowed: ${keys}; remove it, or write "model" if you meant that`,
    ]);
  });

  it('must name a harness or a class', async () => {
    expect(await failure({ 'agent.yaml': 'model: m\n' })).toEqual([
      'agent.yaml:1:1: missing required key "harness"; got nothing; allowed: the name of a harness, or "class" with a dotted path; add "harness: <name>"',
    ]);
  });
});

describe('YAML that does not parse', () => {
  it.each([
    [
      'harness: [codex\n',
      /^agent\.yaml:2:1: the file is not valid YAML: .*; got ""; allowed: one YAML 1\.1 document; correct the syntax here or just before$/,
    ],
    [
      'harness: codex\n  id: x\n',
      /^agent\.yaml:1:10: the file is not valid YAML: Nested mappings .*; got "harness: codex"; allowed: .*$/,
    ],
    [
      'harness: a\nharness: b\n',
      /^agent\.yaml:2:1: the file is not valid YAML: Map keys must be unique; got "harness: b"; allowed: .*$/,
    ],
    [
      'harness: a\n---\nharness: b\n',
      /^agent\.yaml:2:1: the file is not valid YAML: .*multiple documents.*; got "---"; allowed: .*$/,
    ],
    [
      'harness: *none\n',
      /^agent\.yaml:1:10: the file is not valid YAML: alias \*none has no anchor before it; got "harness: \*none"; allowed: .*$/,
    ],
    [
      'harness: a\nconfig: &c {c: *c}\n',
      /^agent\.yaml:1:1: the file is not valid YAML: an anchor contains itself; got .*$/,
    ],
    [
      'harness: !!python/none x\n',
      /^agent\.yaml:1:10: the file is not valid YAML: Unresolved tag: .*; got "harness: !!python\/none x"; allowed: .*$/,
    ],
  ])('%j', async (text, message) => {
    expect(await failure({ 'agent.yaml': text })).toEqual([expect.stringMatching(message)]);
  });

  it('cannot be nested without end', async () => {
    const [message] = await failure({ 'agent.yaml': `harness: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n` });
    expect(message).toMatch(/^agent\.yaml:1:\d+: the file is not valid YAML: .*nest/);
  });

  it('cannot grow without end through aliases', async () => {
    const lines = ['harness: a', 'config:', '  l0: &l0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 8; level += 1) lines.push(`  l${level}: &l${level} [${`*l${level - 1}, `.repeat(10)}]`);
    const [message] = await failure({ 'agent.yaml': `${lines.join('\n')}\n` });
    expect(message).toMatch(/^agent\.yaml:1:1: the file is not valid YAML: Excessive alias count/);
  });
});
