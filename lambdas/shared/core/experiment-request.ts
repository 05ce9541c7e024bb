import type { AgentSpec } from '#core/agent-spec';
import type { Experiment } from '#core/experiment';
import type { TaskSelection } from '#core/task-list';

/** The agents and tasks of an experiment that pass a filter; an empty list of the filter lets all pass. */
export function agentUnitsOf(
  experiment: Pick<Experiment, 'agents' | 'tasks'>,
  filter: { readonly agents: readonly string[]; readonly tasks: readonly string[] },
): { readonly agents: readonly AgentSpec[]; readonly tasks: readonly TaskSelection[] } {
  return {
    agents: experiment.agents.filter(({ id }) => filter.agents.length === 0 || filter.agents.includes(id)),
    tasks: experiment.tasks.filter(({ path }) => filter.tasks.length === 0 || filter.tasks.includes(path)),
  };
}
