import path from 'node:path';
import { Command } from 'commander';
import { loadExperiment } from '#cli/config/load-experiment';
import { EXIT } from '#cli/explain-error';
import { AGENTS_DIR_HELP, collectFolder, foldersOf, TASKS_DIR_HELP, type FolderOptions } from '#cli/folder-options';
import { runOnThisComputer, type LocalRun } from '#cli/local-run';
import { exitCodeOf, printRun } from '#cli/run-output';
import { type agentUnitsOf } from '#core/experiment-request';
import { refuseUnavailablePlaces, refuseUnavailableProviders } from '#core/environment';
import { ConfigError, formatProblem } from '#core/located';
import { duplicateUnits, enumerateUnits, filterUnits, unknownFilters } from '#core/matrix';
import type { Experiment } from '#core/experiment';
import { dryRunBlock } from '#core/upstream-text';

interface RunOptions extends FolderOptions {
  readonly dryRun?: boolean;
  readonly agent: readonly string[];
  readonly task: readonly string[];
  readonly disableResume?: boolean;
  readonly json?: boolean;
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** `examhall run <experiment.yaml>` */
export function runCommand(): Command {
  return new Command('run')
    .description('Run an experiment on this computer, or go on with one: finished units are skipped.')
    .argument('<experiment>', 'experiment file (YAML, as upstream writes them)')
    .option('--dry-run', 'print the planned units and start nothing')
    .option('--agent <id>', 'only this agent; may be given again', collect, [])
    .option('--task <path>', 'only this task; may be given again', collect, [])
    .option('--tasks-dir <folder>', TASKS_DIR_HELP, collectFolder, [])
    .option('--agents-dir <folder>', AGENTS_DIR_HELP, collectFolder, [])
    .option('--disable-resume', 'run every unit once, whatever earlier runs finished')
    .option('--json', 'print one JSON object at the end instead of text')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, options: RunOptions) => {
      process.exitCode = await run(file, options);
    });
}

const EXAMPLES = `
Examples:
  examhall run experiment.yaml --dry-run
  examhall run experiment.yaml
  examhall run experiment.yaml --agent oracle --task business_finance/form_1040
  examhall run experiment.yaml --tasks-dir ../our-tasks --agents-dir ../our-agents
  examhall run experiment.yaml --json > result.json

Exit code 0 only if every unit completed; 1 if not, 2 for bad input, 3 for a fault of Exam Hall.`;

async function run(file: string, options: RunOptions): Promise<number> {
  const { experiment, warnings } = await loadExperiment(file, { env: process.env, cwd: process.cwd() });
  for (const warning of warnings) process.stderr.write(`warning: ${formatProblem(warning)}\n`);
  const filter = { agents: options.agent, tasks: options.task };
  const at = { file: 'command line', line: 1, column: 1 };
  const problems = [...duplicateUnits(experiment), ...unknownFilters(experiment, filter, at)];
  if (problems.length > 0) throw new ConfigError(problems);
  if (options.dryRun === true) {
    printDryRun(experiment, filter, options.json === true);
    return EXIT.done;
  }
  const { availableProviders, remedies } = (await import('#local/local-providers')).localProviders();
  const unavailable = [
    ...refuseUnavailablePlaces(experiment.environment),
    ...refuseUnavailableProviders(experiment.environment, availableProviders, remedies),
  ];
  if (unavailable.length > 0) throw new ConfigError(unavailable);
  const ended: LocalRun = await runOnThisComputer(experiment, {
    filter,
    folders: foldersOf(options),
    resume: options.disableResume !== true,
    quiet: options.json === true,
  });
  printRun(ended, options.json === true);
  return exitCodeOf(ended);
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
