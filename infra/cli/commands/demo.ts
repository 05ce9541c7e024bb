import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { loadExperiment } from '#cli/config/load-experiment';
import { planHere } from '#cli/demo-plan';
import { runOnThisComputer } from '#cli/local-run';
import { exitCodeOf, printRun } from '#cli/run-output';
import { enumerateUnits } from '#core/matrix';
import { dryRunBlock } from '#core/upstream-text';

const DEMO = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'demo', 'experiment.yaml');
const TASKS = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'tasks');

/** `examhall demo` */
export function demoCommand(): Command {
  return new Command('demo')
    .description(
      'Run three agents that need no model on the tasks of this repository, each unit through the whole pipeline.',
    )
    .option('--json', 'print one JSON object at the end instead of text')
    .addHelpText('after', '\nExamples:\n  npm run demo\n  examhall demo --json')
    .action(async (options: { readonly json?: boolean }) => {
      process.exitCode = await demo(options.json === true);
    });
}

async function demo(isJson: boolean): Promise<number> {
  const cwd = process.cwd();
  const { experiment: whole } = await loadExperiment(DEMO, { env: process.env, cwd });
  const { experiment, notPlanned } = await planHere(whole, { cwd, tasksFolder: TASKS });
  if (!isJson) process.stdout.write(notPlanned.map((line) => `${line}\n`).join(''));
  if (!isJson) process.stdout.write(`${dryRunBlock(experiment, enumerateUnits(experiment))}\n\n`);
  const none = { agents: [], tasks: [] };
  const run = await runOnThisComputer(experiment, {
    filter: none,
    folders: { tasks: [], agents: [] },
    resume: false,
    quiet: isJson,
  });
  printRun(run, isJson);
  if (!isJson) process.stdout.write(`${timeTable(run.seconds)}\n`);
  return exitCodeOf(run);
}

function timeTable(seconds: Readonly<Record<string, number>>): string {
  const { prepare = 0, run = 0, ...stages } = seconds;
  const line = (name: string, value: number): string => `  ${name.padEnd(10)} ${value.toFixed(1).padStart(7)} s`;
  return [
    'time:',
    line('prepare', prepare),
    line('run', run),
    'time by stage, all units together (they run side by side):',
    ...Object.entries(stages).map(([name, value]) => line(name, value)),
  ].join('\n');
}
