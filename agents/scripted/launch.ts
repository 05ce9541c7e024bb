import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { requireVariable, runSteps, type ShellStep } from '../_shared/launch.ts';

/** As `agents/README.md` gives it; checked when the agent is published. */
interface Recording {
  readonly task: string;
  readonly steps?: readonly ShellStep[];
  readonly variants?: Readonly<Record<string, { readonly steps: readonly ShellStep[] }>>;
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const file = path.join('agent', 'recording.json');
if (!existsSync(file)) fail('there is no recording of this task; add agents/scripted/<domain>__<task>.json');
const recording = JSON.parse(readFileSync(file, 'utf8')) as Recording;
const variant = requireVariable('EXAMHALL_VARIANT');
const steps = recording.variants?.[variant]?.steps ?? recording.steps;
if (steps === undefined) fail(`the recording of ${recording.task} has no steps for variant ${variant}`);
process.exit((await runSteps(steps)) ? 0 : 1);
