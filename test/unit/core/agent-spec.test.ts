import { describe, expect, it } from 'vitest';
import { type AgentReading, readAgent } from '#core/agent-spec';
import { formatProblem, plainSource } from '#core/located';

const at = { file: 'exp.yaml', line: 3, column: 5 };

function read(value: unknown, keys: Record<string, string[]> = {}): AgentReading {
  return readAgent(plainSource('agent.yaml', value), at, keys);
}

describe('an agent file', () => {
  it('needs a harness and nothing else', () => {
    expect(read({ harness: 'nop' })).toEqual({
      agent: {
        id: 'nop',
        harness: 'nop',
        className: null,
        model: null,
        executor: null,
        config: {},
        file: 'agent.yaml',
        at,
      },
      problems: [],
      warnings: [],
    });
  });

  it('may name a class, which is its id', () => {
    expect(read({ class: 'pkg.Own', id: '', harness: undefined }).agent).toMatchObject({
      id: 'pkg.Own',
      harness: null,
      className: 'pkg.Own',
    });
  });

  it('lets the model at the top win over the one in config', () => {
    expect(read({ harness: 'x', model: 'a', config: { model: 'b' } }).agent).toMatchObject({
      model: 'a',
      config: { model: 'a' },
    });
    expect(read({ harness: 'x', model: null, config: { model: 'b' } }).agent).toMatchObject({
      model: 'b',
      config: { model: 'b' },
    });
    expect(read({ harness: 'x', config: null }).agent).toMatchObject({ model: null, config: {} });
  });

  it('takes whole numbers as an id, as upstream does', () => {
    expect(read({ harness: 'x', id: 7 }).agent.id).toBe('7');
  });

  it('keeps settings of harnesses it knows nothing about, without a word', () => {
    const config = { anything: { deep: [1] }, __proto__x: 1 };
    expect(read({ harness: 'x', config }, { y: [] })).toMatchObject({ agent: { config }, warnings: [] });
  });

  it('warns about settings that its harness does not read', () => {
    const { warnings, problems } = read({ harness: 'x', config: { speed: 1, model: 'm' } }, { x: ['turns'] });
    expect(problems).toEqual([]);
    expect(warnings.map(formatProblem)).toEqual([
      'agent.yaml:1:1: x reads no such setting; it is dropped; got "speed"; allowed: turns, model; remove it',
    ]);
  });

  it.each([
    [
      { harness: true },
      [
        '"harness" is not text; got true; allowed: the name of a harness; write it as text; put quotes around words such as on, yes and 1.5, which YAML 1.1 does not read as text',
      ],
    ],
    [
      { harness: 'x', config: { model: 5 } },
      [
        'the model is not text; got 5; allowed: the name of a model as text; write it as text, in quotes if it looks like a number or a truth value',
      ],
    ],
    [
      ['harness'],
      [
        'the agent file is not a mapping; got a list of 1; allowed: a mapping of keys to values; write the agent file as "key: value" lines',
        'missing required key "harness"; got nothing; allowed: the name of a harness, or "class" with a dotted path; add "harness: <name>"',
      ],
    ],
  ])('refuses %j', (value, messages) => {
    expect(read(value).problems.map((problem) => formatProblem(problem).slice('agent.yaml:1:1: '.length))).toEqual(
      messages,
    );
  });
});
