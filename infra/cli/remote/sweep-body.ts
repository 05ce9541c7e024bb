import { StartSweepBodySchema, type StartSweepBody } from '#contracts/api-schemas';
import { ANY_SNAPSHOT } from '#contracts/sweep-request';
import type { AgentSpec } from '#core/agent-spec';
import { routesOf } from '#core/environment';
import type { Experiment } from '#core/experiment';
import { agentUnitsOf } from '#core/experiment-request';
import { imageFamily } from '#core/image-family';
import {
  ConfigError,
  displayPath,
  type LocatedProblem,
  type Location,
  problemAt,
  renderValue,
  valueAt,
} from '#core/located';
import { maskSecrets } from '#core/mask-secrets';
import type { TaskSelection } from '#core/task-list';

export interface BodyOptions {
  readonly filter: { readonly agents: readonly string[]; readonly tasks: readonly string[] };
  readonly costCenter: string;
  readonly dryRun: boolean;
  /** Values that came from a secrets file. */
  readonly secrets: readonly string[];
}

/** A request for a sweep, and where each part of it is written. */
export interface SweepWish {
  readonly body: StartSweepBody;
  readonly agents: readonly AgentSpec[];
  readonly tasks: readonly TaskSelection[];
  readonly file: string;
}

/** Shorter values are found everywhere by chance. */
const LEAST_SECRET_LENGTH = 6;

/** What an experiment asks a host for. @throws ConfigError with everything that the API cannot take, at its place. */
export function sweepWish(experiment: Experiment, options: BodyOptions): SweepWish {
  const { agents, tasks: selected } = agentUnitsOf(experiment, options.filter);
  const tasks = mergedByPath(selected);
  const problems = agents.flatMap((agent) => secretProblems(agent, options.secrets));
  const { deadlineSeconds } = experiment;
  const body = {
    name: experiment.name,
    costCenter: options.costCenter,
    agents: agents.map(({ id, harness, model, config }) => ({
      id,
      agentId: harness ?? id,
      model,
      config: { ...config },
    })),
    tasks: tasks.map(({ path, variants }) => ({ path, variants: [...variants] })),
    trials: experiment.trials,
    snapshots: snapshotsOf(experiment),
    limits: {
      concurrency: experiment.concurrency,
      maxAttempts: experiment.maxAttempts,
      wallTimeSeconds: experiment.wallTimeSeconds,
      budgetUsd: experiment.budgetUsd,
      ...(deadlineSeconds === null ? {} : { deadlineSeconds }),
    },
    promptSuffix: experiment.promptSuffix,
    cleanupMode: experiment.cleanupMode,
    collectOutput: experiment.environment.outputPath === 'local',
    privilege: experiment.privilege ?? 'restricted',
    network: experiment.network ?? 'open',
    dryRun: options.dryRun,
  };
  const parsed = StartSweepBodySchema.safeParse(body);
  const places = { agents, tasks, file: experiment.file };
  if (!parsed.success) {
    for (const { path, message } of parsed.error.issues) {
      const steps = path.filter((step) => typeof step !== 'symbol');
      const text = {
        what: `the API does not take "${displayPath(steps)}"`,
        got: renderValue(valueAt(body, steps)),
        allowed: message,
        action: 'change it in the experiment',
      };
      problems.push(problemAt(placeOf(steps, places), text, steps));
    }
  }
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems);
  return { body: parsed.data, ...places };
}

type Places = Pick<SweepWish, 'agents' | 'tasks' | 'file'>;

/** Where a part of the request is written; the beginning of the experiment where that is not known. */
export function placeOf(steps: readonly (string | number)[], { agents, tasks, file }: Places): Location {
  const [list, index] = steps;
  const entry =
    typeof index !== 'number'
      ? undefined
      : list === 'agents'
        ? agents[index]
        : list === 'tasks'
          ? tasks[index]
          : undefined;
  return entry?.at ?? { file, line: 1, column: 1 };
}

/** Several entries of one task are one wish with all their variants. */
function mergedByPath(tasks: readonly TaskSelection[]): readonly TaskSelection[] {
  const merged = new Map<string, TaskSelection>();
  for (const task of tasks) {
    const before = merged.get(task.path);
    if (before === undefined) merged.set(task.path, task);
    else
      merged.set(task.path, {
        ...before,
        variants: [...before.variants, ...task.variants],
        variantsAt: [...before.variantsAt, ...task.variantsAt],
      });
  }
  return [...merged.values()];
}

function snapshotsOf({ environment }: Experiment): Record<string, StartSweepBody['snapshots'][string]> {
  return Object.fromEntries(
    routesOf(environment).map(({ tag, route: { provider, image, resolution, knobs } }) => [
      tag ?? ANY_SNAPSHOT,
      { provider, image, os: imageFamily(image)?.os ?? 'linux', resolution, knobs: { ...knobs } },
    ]),
  );
}

/** A request is stored and read by many: nothing secret may be in it. */
function secretProblems({ id, config, at, file }: AgentSpec, secrets: readonly string[]): readonly LocatedProblem[] {
  const shown = maskSecrets(config);
  const isSecret = (value: unknown): boolean => {
    const text = JSON.stringify(value);
    return secrets.some(
      (secret) => secret.length >= LEAST_SECRET_LENGTH && text.includes(JSON.stringify(secret).slice(1, -1)),
    );
  };
  return Object.keys(config)
    .filter((key) => JSON.stringify(shown[key]) !== JSON.stringify(config[key]) || isSecret(config[key]))
    .map((key) =>
      problemAt(at, {
        what: `setting "${key}" of agent "${id}" holds a secret, which would be stored with the sweep`,
        got: '*** (not shown)',
        allowed: 'settings that everybody who may read sweeps may see',
        action: `remove it from ${file}`,
      }),
    );
}
