import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgentSpec } from '#core/agent-spec';
import { formatProblem, type LocatedProblem } from '#core/located';
import { duplicateUnits, enumerateUnits, filterUnits, unknownFilters, unknownSelections } from '#core/matrix';
import { agentSlug, modelSlug, taskSlug } from '#core/slugs';
import type { TaskSelection } from '#core/task-list';

function at(line: number) {
  return { file: 'exp.yaml', line, column: 1 };
}

function agent(id: string, more: Partial<AgentSpec> = {}): AgentSpec {
  return {
    id,
    harness: id,
    className: null,
    model: null,
    executor: null,
    config: {},
    file: 'a.yaml',
    at: at(2),
    ...more,
  };
}

function task(path: string, variants: readonly number[] = [0], line = 5): TaskSelection {
  return {
    path,
    variants,
    at: at(line),
    variantsAt: variants.map((_, index) => ({ ...at(line), column: index + 20 })),
  };
}

function texts(problems: readonly LocatedProblem[]): string[] {
  return problems.map(formatProblem);
}

describe('the units of an experiment', () => {
  const units = enumerateUnits({
    agents: [agent('a'), agent('b')],
    tasks: [task('d/x', [1, 0]), task('d/y')],
    trials: 2,
  });

  it('nest agents, tasks, variants and trials, in file order', () => {
    expect(units.map((unit) => `${unit.agent.id} ${unit.taskPath} ${unit.variant} ${unit.trial}`)).toEqual(
      ['a', 'b'].flatMap((id) => ['d/x 1', 'd/x 0', 'd/y 0'].flatMap((rest) => [`${id} ${rest} 1`, `${id} ${rest} 2`])),
    );
    expect(units[2]?.at).toEqual({ ...at(5), column: 21 });
  });

  it('are filtered by exact agent ids and task paths', () => {
    expect(filterUnits(units, { agents: [], tasks: [] })).toHaveLength(12);
    expect(filterUnits(units, { agents: ['a'], tasks: [] })).toHaveLength(6);
    expect(filterUnits(units, { agents: ['a', 'b'], tasks: ['d/y'] })).toHaveLength(4);
    expect(filterUnits(units, { agents: ['A'], tasks: [] })).toEqual([]);
  });

  it('are as many as the matrix has cells', () => {
    const count = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(count, count, count, count, (agents, tasks, variants, trials) => {
        const matrix = {
          agents: Array.from({ length: agents }, (_, index) => agent(`a${index}`)),
          tasks: Array.from({ length: tasks }, (_, index) => task(`d/t${index}`, [...Array(variants).keys()])),
          trials,
        };
        expect(enumerateUnits(matrix)).toHaveLength(agents * tasks * variants * trials);
        expect(duplicateUnits(matrix)).toEqual([]);
      }),
    );
  });
});

describe('filters that match nothing', () => {
  it('are named with what there is', () => {
    const experiment = { agents: [agent('codex')], tasks: [task('demo/hello')] };
    expect(texts(unknownFilters(experiment, { agents: ['codx', 'codex'], tasks: ['x'] }, at(1)))).toEqual([
      'exp.yaml:1:1: --agent names no agent of the experiment; got "codx"; allowed: "codex"; write "codex" if you meant that; else give the agent exactly as the dry run prints it',
      'exp.yaml:1:1: --task names no task of the experiment; got "x"; allowed: "demo/hello"; give the task exactly as the dry run prints it',
    ]);
  });
});

describe('agents, tasks and variants that nobody has', () => {
  const catalogue = {
    harnesses: ['nop', 'oracle'],
    tasks: new Map([
      ['d/one', { variantCount: 1 }],
      ['d/five', { variantCount: 5 }],
    ]),
  };

  it('are each named with their place', () => {
    const agents = [agent('nop'), agent('oracel'), agent('z', { harness: null, className: 'a.B' })];
    const tasks = [task('d/five', [4, 5], 7), task('d/one', [1], 8), task('d/on', [0], 9)];
    expect(texts(unknownSelections({ agents, tasks }, catalogue))).toEqual([
      'exp.yaml:2:1: unknown agent; got "oracel"; allowed: "nop", "oracle"; write "oracle" if you meant that; else use one of these harnesses, or add a folder for it under agents/',
      'exp.yaml:2:1: an agent given by "class" cannot run here; got "a.B"; allowed: "nop", "oracle"; use one of these harnesses, or add a folder for it under agents/',
      'exp.yaml:7:21: task "d/five" has no such variant; got 5; allowed: 0 to 4; choose a variant it has',
      'exp.yaml:8:20: task "d/one" has no such variant; got 1; allowed: 0; choose a variant it has',
      'exp.yaml:9:1: unknown task; got "d/on"; allowed: "d/one", "d/five"; write "d/one" if you meant that; else name a task that `examhall list` prints',
    ]);
  });

  it('are not all listed when there are many tasks', () => {
    const tasks = new Map(Array.from({ length: 20 }, (_, index) => [`d/t${index}`, { variantCount: 1 }]));
    const [problem] = unknownSelections({ agents: [], tasks: [task('nowhere/at_all')] }, { harnesses: [], tasks });
    expect(problem?.allowed).toMatch(/^"d\/t0", .*"d\/t11" and 8 more$/);
  });
});

describe('duplicate units', () => {
  it('are exactly the pairs that share a folder', () => {
    const id = fc.constantFrom('a-b', 'a_b', 'A B', 'ab');
    const model = fc.constantFrom(null, 'm.1', 'm-1', 'M/1', 'n');
    const path = fc.constantFrom('d/x', 'd/y', 'd__x/z', 'd/x__z');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(id, model), { maxLength: 4 }),
        fc.array(fc.tuple(path, fc.nat({ max: 1 })), { maxLength: 4 }),
        (agents, tasks) => {
          const matrix = {
            agents: agents.map(([name, model]) => agent(name, { model })),
            tasks: tasks.map(([name, variant]) => task(name, [variant])),
          };
          const distinctAgents = new Set(matrix.agents.map((item) => `${agentSlug(item.id)}/${modelSlug(item.model)}`))
            .size;
          const distinctTasks = new Set(
            matrix.tasks.map((item) => `${taskSlug(item.path)}/${String(item.variants[0])}`),
          ).size;
          expect(duplicateUnits(matrix)).toHaveLength(agents.length - distinctAgents + (tasks.length - distinctTasks));
        },
      ),
    );
  });

  it('name both places', () => {
    expect(texts(duplicateUnits({ agents: [], tasks: [task('d/x', [3, 3])] }))).toEqual([
      'exp.yaml:5:21: the same task and variant is listed at exp.yaml:5:20 and here; got "d/x" v3 and "d/x" v3; allowed: each task and variant once, compared as folder names; remove one (write "trials: <n>" to run units several times)',
    ]);
  });
});
