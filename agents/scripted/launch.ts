import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Recording, RecordingStep } from '#sdk';
import { playAll, requireVariable, runShell } from '../_shared/launch.ts';
import { ScreenPlayer } from './launch-screen.ts';

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const file = path.join('agent', 'recording.json');
if (!existsSync(file)) fail('there is no recording of this task; add agents/scripted/<domain>__<task>.json');
// As `agents/README.md` gives it; checked when the agent is published.
const recording = JSON.parse(readFileSync(file, 'utf8')) as Recording;
const variant = requireVariable('EXAMHALL_VARIANT');
const steps = recording.variants?.[variant]?.steps ?? recording.steps;
if (steps === undefined) fail(`the recording of ${recording.task} has no steps for variant ${variant}`);

const player = new ScreenPlayer(recording.fonts);
const play = async (step: RecordingStep, number: number): Promise<void> => {
  if ('run' in step) await runShell(`call_${number}`, step);
  else await player.play(step);
};
const isDone = await playAll(steps, play);
player.close();
process.exit(isDone ? 0 : 1);
