import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { loadExperiment } from '#cli/config/load-experiment';
import { loadTaskCard } from '#cli/config/load-task-card';
import { runOnThisComputer } from '#cli/local-run';
import { exitCodeOf, printRun } from '#cli/run-output';
import type { Experiment } from '#core/experiment';
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
  const experiment = await plannedHere(whole, cwd, isJson);
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

/** The experiment without the tasks that ask for a sandbox this computer lacks; each of those is named. */
async function plannedHere(experiment: Experiment, cwd: string, isQuiet: boolean): Promise<Experiment> {
  const { environment } = experiment;
  const tasks = [];
  const notPlanned = [];
  for (const task of experiment.tasks) {
    const { card } = await loadTaskCard(path.join(TASKS, task.path, 'task_card.json'), cwd);
    const why = await whyNotHere(card.snapshot, environment);
    if (why === null) tasks.push(task);
    else notPlanned.push(`not planned: ${why}: ${task.path}\n`);
  }
  if (!isQuiet) process.stdout.write([...new Set(notPlanned)].join(''));
  return { ...experiment, tasks };
}

/** What this computer lacks for a snapshot, as the command that gets it where there is one; null when nothing. */
async function whyNotHere(tag: string | null, { snapshots }: Experiment['environment']): Promise<string | null> {
  const snapshot = tag === null || !Object.hasOwn(snapshots, tag) ? undefined : snapshots[tag];
  if (snapshot === undefined) {
    return `the environment maps no snapshot ${tag ?? '(none named)'} to a provider; a file that does enables it`;
  }
  if (snapshot.provider !== 'desktop') return null;
  const { findDesktop, SETUP_COMMAND } = await import('#local/desktop/installation');
  const found = findDesktop();
  if (!found.isThere) return `${SETUP_COMMAND} (${found.reason})`;
  return found.installation.browser === null ? `${SETUP_COMMAND} (no browser is installed)` : null;
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
