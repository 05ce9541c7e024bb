import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { enumerateUnits } from '#core/matrix';
import type { Experiment } from '#core/experiment';
import type { SnapshotRoute } from '#core/snapshot-routes';
import { loadExperiment } from '#cli/config/load-experiment';
import { AGENTS_FOLDER, TASKS_FOLDER } from '#local/catalogue';
import { executeRun, prepareRun } from '#local/run-experiment';
import { openSession, type Session } from '#local/session';
import type { ModuleReport, ModuleRunner } from '#ports/module-runner';
import { watchMemory, type MemoryFigures } from './memory-watch.ts';

/** Figures of one sweep on no-op sandboxes. */
export interface SweepFigures {
  readonly units: number;
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
  readonly memory: MemoryFigures;
  readonly completed: number;
}

const REPORT: Omit<ModuleReport, 'value' | 'valueKind'> = {
  end: 'returned',
  errorName: null,
  errorMessage: null,
  exitCode: 0,
  signal: null,
  hostFault: null,
  stdout: '',
  stderr: '',
  stdoutBytes: 0,
  stderrBytes: 0,
  durationSeconds: 0,
};

/** Answers every hook at once, so that what is measured is the pipeline and not Node's start. */
function instantModules(variants: readonly unknown[]): ModuleRunner {
  const values: Readonly<Record<string, unknown>> = { load: variants, evaluate: 1, parse: { steps: [] } };
  return {
    run: ({ phase }) => {
      const value = values[phase];
      return Promise.resolve({
        ...REPORT,
        value: value ?? null,
        valueKind: value === undefined ? 'undefined' : 'json',
      });
    },
  };
}

export async function benchExperiment(folder: string, trials: number): Promise<Experiment> {
  const file = path.join(import.meta.dirname, 'experiment.yaml');
  const { experiment } = await loadExperiment(file, { env: {}, cwd: folder });
  const snapshots: Record<string, SnapshotRoute> = {};
  for (const [tag, route] of Object.entries(experiment.environment.snapshots))
    snapshots[tag] = { ...route, provider: 'noop' };
  const environment = { ...experiment.environment, snapshots };
  return { ...experiment, environment, trials, outputRoot: folder };
}

/** Opens a session whose sandboxes and hooks do nothing, in a folder of its own. */
export async function openBench(): Promise<{
  readonly session: Session;
  readonly folder: string;
  close(): Promise<void>;
}> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-bench-'));
  const modules = instantModules([{ name: 'base', prompt: 'nothing to do', metadata: {} }]);
  const session = await openSession({ treeRoot: path.join(folder, 'bench'), modules });
  const close = async (): Promise<void> => {
    await session.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { session, folder, close };
}

export const REQUEST = {
  folders: { tasks: [TASKS_FOLDER], agents: [AGENTS_FOLDER] },
  filter: { agents: [], tasks: [] },
  resume: false,
  owner: 'bench',
  costCenter: 'bench',
};

const WARM_UNITS = 50;

/** One sweep of `trials` units, after a small one that warms the process up. */
export async function sweepFigures(trials: number): Promise<SweepFigures> {
  const { session, folder, close } = await openBench();
  try {
    const warm = { ...(await benchExperiment(folder, WARM_UNITS)), name: 'warm' };
    await executeRun(session, await prepareRun(session, warm, REQUEST));
    const experiment = await benchExperiment(folder, trials);
    const prepared = await prepareRun(session, experiment, REQUEST);
    const memory = await watchMemory();
    const cpu = process.cpuUsage();
    const started = performance.now();
    const { units } = await executeRun(session, prepared);
    const used = process.cpuUsage(cpu);
    const wallSeconds = (performance.now() - started) / 1000;
    return {
      units: enumerateUnits(experiment).length,
      wallSeconds,
      cpuSeconds: (used.user + used.system) / 1e6,
      memory: await memory.stop(),
      completed: units.filter(({ status }) => status === 'completed').length,
    };
  } finally {
    await close();
  }
}
