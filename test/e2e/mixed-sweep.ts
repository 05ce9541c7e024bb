import path from 'node:path';
import { loadExperiment } from '#cli/config/load-experiment';
import { explainError } from '#cli/explain-error';
import { runOnThisComputer } from '#cli/local-run';
import { exitCodeOf, printRun } from '#cli/run-output';
import type { EnvironmentSpec } from '#core/environment';

/**
 * `examhall run <experiment.yaml> --json` with no-op sandboxes for the snapshot tag `nothing`, which no environment file
 * may ask for: many units at little cost. Tasks and agents lie beside `experiments/`.
 */
const [, , , file = ''] = process.argv;
const ground = path.resolve(path.dirname(file), '../..');

function withNothing(environment: EnvironmentSpec): EnvironmentSpec {
  const { nothing, ...others } = environment.snapshots;
  if (nothing === undefined) throw new TypeError(`${environment.file} maps no snapshot "nothing"`);
  return { ...environment, snapshots: { ...others, nothing: { ...nothing, provider: 'noop' } } };
}

try {
  const { experiment } = await loadExperiment(file, { env: process.env, cwd: process.cwd() });
  const mixed = { ...experiment, environment: withNothing(experiment.environment) };
  const folders = { tasks: [path.join(ground, 'tasks')], agents: [path.join(ground, 'agents')] };
  const run = await runOnThisComputer(mixed, {
    filter: { agents: [], tasks: [] },
    folders,
    resume: true,
    quiet: false,
  });
  printRun(run, true);
  process.exitCode = exitCodeOf(run);
} catch (error) {
  process.exitCode = explainError(error);
}
