import path from 'node:path';
import { loadTaskCard } from '#cli/config/load-task-card';
import type { Experiment } from '#core/experiment';
import type { FoundDesktop } from '#local/desktop/installation';

export interface DemoGround {
  readonly cwd: string;
  readonly tasksFolder: string;
  /** Default: what this computer has. */
  readonly findDesktop?: () => FoundDesktop;
}

/** The experiment without the tasks that ask for a sandbox this computer lacks, and a line for each reason. */
export async function planHere(
  experiment: Experiment,
  ground: DemoGround,
): Promise<{ readonly experiment: Experiment; readonly notPlanned: readonly string[] }> {
  const tasks = [];
  const left = new Map<string, string[]>();
  for (const task of experiment.tasks) {
    const { card } = await loadTaskCard(path.join(ground.tasksFolder, task.path, 'task_card.json'), ground.cwd);
    const why = await whyNotHere(card.snapshot, experiment.environment, ground);
    if (why === null) tasks.push(task);
    else left.set(why, [...(left.get(why) ?? []), task.path]);
  }
  const notPlanned = [...left].map(([why, paths]) => `not planned: ${why}: ${[...new Set(paths)].join(', ')}`);
  return { experiment: { ...experiment, tasks }, notPlanned };
}

/** What this computer lacks for a snapshot, as the command that gets it where there is one; null when nothing. */
async function whyNotHere(
  tag: string | null,
  { snapshots }: Experiment['environment'],
  ground: DemoGround,
): Promise<string | null> {
  const snapshot = tag === null || !Object.hasOwn(snapshots, tag) ? undefined : snapshots[tag];
  if (snapshot === undefined) {
    return `the environment maps no snapshot ${tag ?? '(none named)'} to a provider; a file that does enables it`;
  }
  if (snapshot.provider !== 'desktop') return null;
  const { findDesktop, SETUP_COMMAND } = await import('#local/desktop/installation');
  const found = (ground.findDesktop ?? findDesktop)();
  if (!found.isThere) return `${SETUP_COMMAND} (${found.reason})`;
  return found.installation.browser === null ? `${SETUP_COMMAND} (no browser is installed)` : null;
}
