import path from 'node:path';
import { Command } from 'commander';
import { checkExperiment } from '#cli/check-experiment';
import { loadExperiment } from '#cli/config/load-experiment';
import { EXIT } from '#cli/explain-error';
import { foldersOf } from '#cli/folder-options';
import { runOnThisComputer, type LocalRun } from '#cli/local-run';
import { misplacedOptions, withRunOptions, type RunOptions } from '#cli/run-options';
import { exitCodeOf, printRun } from '#cli/run-output';
import { commandLineError } from '#cli/remote/command-line-error';
import { namesHost } from '#cli/remote/host-options';
import type { AgentConfigKeys } from '#core/agent-spec';
import { type agentUnitsOf } from '#core/experiment-request';
import { refuseUnavailablePlaces, refuseUnavailableProviders } from '#core/environment';
import { formatProblem, type LocatedProblem } from '#core/located';
import { duplicateUnits, enumerateUnits, filterUnits, unknownFilters } from '#core/matrix';
import type { Experiment } from '#core/experiment';
import { dryRunBlock } from '#core/upstream-text';

/** `examhall run <experiment.yaml>` */
export function runCommand(): Command {
  const command = new Command('run')
    .description(
      'Run an experiment on this computer, or go on with one: finished units are skipped. With a host, start it there.',
    )
    .argument('<experiment>', 'experiment file (YAML, as upstream writes them)')
    .addHelpText('after', EXAMPLES);
  return withRunOptions(command).action(async (file: string, options: RunOptions) => {
    process.exitCode = await runAnywhere(file, options);
  });
}

const EXAMPLES = `
Examples:
  examhall run experiment.yaml --dry-run
  examhall run experiment.yaml
  examhall run experiment.yaml --agent oracle --task business_finance/form_1040
  examhall run experiment.yaml --tasks-dir ../our-tasks --agents-dir ../our-agents
  examhall run experiment.yaml --json > result.json
  examhall run experiment.yaml --stage prod --cost-center research --watch
  examhall run experiment.yaml --host http://127.0.0.1:7878 --dry-run

On a host, agents and tasks are those that were published to it. A command that was cut off before it had an answer can be
given again: it finds the sweep that it has started.
Exit code 0 only if every unit completed; 1 if not, 2 for bad input, 3 for a fault of Exam Hall.`;

/** On a host when one is named, else here. */
async function runAnywhere(file: string, options: RunOptions): Promise<number> {
  const isRemote = options.here !== true && namesHost(options, process.env);
  const wrong = misplacedOptions(options, isRemote ? 'host' : 'here');
  if (wrong.length > 0) {
    throw commandLineError({
      what: `an option does not fit a run ${isRemote ? 'on a host' : 'on this computer'}`,
      got: wrong.join(', '),
      allowed: isRemote
        ? 'tasks and agents that are published there; each sweep starts anew'
        : 'with --host or --stage only',
      action: isRemote
        ? 'leave it out (`examhall tasks publish`, `agents publish`), or give --here'
        : 'leave it out, or name a host',
    });
  }
  if (!isRemote) return await run(file, options);
  const { runRemote } = await import('#cli/remote/run-remote');
  return await runRemote(file, options);
}

async function run(file: string, options: RunOptions): Promise<number> {
  const agentConfigKeys = await settingsOfAgents(foldersOf(options));
  const { experiment, warnings } = await loadExperiment(file, {
    env: process.env,
    cwd: process.cwd(),
    agentConfigKeys,
  });
  for (const warning of warnings) process.stderr.write(`warning: ${formatProblem(warning)}\n`);
  const filter = { agents: options.agent, tasks: options.task };
  const at = { file: 'command line', line: 1, column: 1 };
  const isDry = options.dryRun === true;
  const found = [...duplicateUnits(experiment), ...unknownFilters(experiment, filter, at)];
  if (!isDry) found.push(...(await unavailableHere(experiment)));
  await checkExperiment(experiment, { folders: foldersOf(options), cwd: process.cwd(), found, loadsTasks: isDry });
  if (isDry) {
    printDryRun(experiment, filter, options.json === true);
    return EXIT.done;
  }
  const ended: LocalRun = await runOnThisComputer(experiment, {
    filter,
    folders: foldersOf(options),
    resume: options.disableResume !== true,
    quiet: options.json === true,
  });
  printRun(ended, options.json === true);
  return exitCodeOf(ended);
}

/** Agents in folders are given no settings, so whatever `config` says besides the model is dropped, with a warning. */
async function settingsOfAgents(others: ReturnType<typeof foldersOf>): Promise<AgentConfigKeys> {
  const { catalogueFolders, localCatalogue } = await import('#local/catalogue');
  const { harnesses } = await localCatalogue(await catalogueFolders(others));
  return Object.fromEntries(harnesses.map((harness) => [harness, []]));
}

/** Providers and places of the environment that this computer does not have. */
async function unavailableHere({ environment }: Experiment): Promise<readonly LocatedProblem[]> {
  const { availableProviders, remedies } = (await import('#local/local-providers')).localProviders();
  return [
    ...refuseUnavailablePlaces(environment),
    ...refuseUnavailableProviders(environment, availableProviders, remedies),
  ];
}

function printDryRun(experiment: Experiment, filter: Parameters<typeof agentUnitsOf>[1], isJson: boolean): void {
  const units = filterUnits(enumerateUnits(experiment), filter);
  if (!isJson) {
    process.stdout.write(`${dryRunBlock(experiment, units)}\n`);
    return;
  }
  const plain = units.map(({ agent, taskPath, variant, trial }) => ({
    agent: agent.id,
    model: agent.model,
    task: taskPath,
    variant,
    trial,
  }));
  const output = path.join(experiment.outputRoot, experiment.name);
  process.stdout.write(
    `${JSON.stringify({ experiment: experiment.name, output, concurrency: experiment.concurrency, units: plain })}\n`,
  );
}
