import path from 'node:path';
import { examhall, type CliEnd } from './cli-process.ts';
import { writeExperiment, type ExperimentText, type TestGround } from './experiment-files.ts';
import { recordOf, runOutput, unitOf, type RecordFile, type RunOutput, type UnitOutput } from './json-output.ts';

/** An experiment that has been run to its end, with what it left. */
export interface SweptExperiment {
  readonly end: CliEnd;
  readonly run: RunOutput;
  readonly treeRoot: string;
  unit(agent: string, task: string): UnitOutput;
  record(agent: string, task: string): RecordFile;
  /** Run folder of the unit's last attempt. */
  folder(agent: string, task: string): string;
}

/** Like `examhall run --json`, with no-op sandboxes for the snapshot tag `nothing`. */
export const MIXED_SWEEP = path.join(import.meta.dirname, 'mixed-sweep.ts');

/** Writes an experiment and runs it through the command line, or through another `main`. */
export async function sweep(ground: TestGround, text: ExperimentText, main?: string): Promise<SweptExperiment> {
  const file = writeExperiment(ground, text);
  const options = { timeoutSeconds: 280, ...(main === undefined ? {} : { main }) };
  const args = main === undefined ? [...ground.folderArgs, '--json'] : [];
  const end = await examhall(['run', file, ...args], options);
  const run = runOutput(end);
  const unit = (agent: string, task: string): UnitOutput => unitOf(run, agent, task);
  return {
    end,
    run,
    treeRoot: run.output,
    unit,
    record: (agent, task) => recordOf(run, unit(agent, task)),
    folder: (agent, task) => path.join(run.output, unit(agent, task).runDir ?? '?'),
  };
}

/** Holds what `beforeAll` makes. @throws before it was made. */
export function later<Value>(): { readonly get: () => Value; readonly set: (value: Value) => void } {
  const held: { value?: Value } = {};
  return {
    get: () => {
      if (!('value' in held)) throw new Error('what the tests are about was not made; see the failure of beforeAll');
      return held.value;
    },
    set: (value) => {
      held.value = value;
    },
  };
}
