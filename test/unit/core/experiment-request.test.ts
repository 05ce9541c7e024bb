import { describe, expect, it } from 'vitest';
import type { AgentSpec } from '#core/agent-spec';
import { agentUnitsOf } from '#core/experiment-request';
import type { TaskSelection } from '#core/task-list';

const at = { file: 'e.yaml', line: 1, column: 1 };
const agents = ['codex', 'nop'].map((id) => ({ id }) as AgentSpec);
const tasks = ['a/b', 'c/d'].map((path) => ({ path, variants: [0], at, variantsAt: [at] }) satisfies TaskSelection);
const filtered = (agentIds: readonly string[], taskPaths: readonly string[]) => {
  const kept = agentUnitsOf({ agents, tasks }, { agents: agentIds, tasks: taskPaths });
  return [kept.agents.map(({ id }) => id), kept.tasks.map(({ path }) => path)];
};

describe('the filter of a run', () => {
  it('lets all pass when it names none', () => {
    expect(filtered([], [])).toEqual([
      ['codex', 'nop'],
      ['a/b', 'c/d'],
    ]);
  });

  it('lets pass what it names, in the order of the experiment', () => {
    expect(filtered(['nop'], ['c/d', 'a/b'])).toEqual([['nop'], ['a/b', 'c/d']]);
  });

  it('lets nothing pass of a name that is not there', () => {
    expect(filtered(['claude'], [])).toEqual([[], ['a/b', 'c/d']]);
  });
});
