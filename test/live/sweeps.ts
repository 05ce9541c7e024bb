import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as z from 'zod';
import { imageFamily } from '#core/image-family';

/** One small sweep that shows a first boot: machine, desktop, agent, grade and release. */
export interface LiveSweep {
  readonly name: string;
  /** Image family of the stage's settings. */
  readonly image: 'ale-ubuntu22' | 'ale-win-server';
  /** From the start of the sweep to its end, first boot included. */
  readonly minutes: number;
}

/** One for each system that sandboxes have. */
export const LIVE_SWEEPS: readonly LiveSweep[] = [
  { name: 'live-linux', image: 'ale-ubuntu22', minutes: 60 },
  { name: 'live-windows', image: 'ale-win-server', minutes: 90 },
];

/** Of `demo/hello`. */
const SNAPSHOT = 'cpu-free-ubuntu-desktop';

/** Files of an experiment: one agent that needs no model, one unit, nothing kept. By name. */
export function experimentFiles({ name, image, minutes }: LiveSweep, region: string): Readonly<Record<string, string>> {
  if (imageFamily(image) === null) throw new TypeError(`${image} is no image family`);
  return {
    'oracle.yaml': 'harness: oracle\n',
    'environment.yaml': `snapshots:
  ${SNAPSHOT}:
    provider: aws
    image: ${image}
    aws: {region: ${region}, zones: [${region}a, ${region}b]}
output_path: local
`,
    'experiment.yaml': `name: ${name}
agents:
  - oracle.yaml
environment: environment.yaml
tasks:
  - {path: demo/hello, variants: [0]}
output: {root: ${JSON.stringify(path.join(os.tmpdir(), name))}}
concurrency: 1
wall_time_s: ${String(Math.min(1800, minutes * 30))}
`,
  };
}

const EndedSchema = z.object({
  sweep: z.object({ status: z.string() }),
  units: z.array(z.object({ class: z.string(), score: z.number().nullable() })).length(1),
});
const SandboxesSchema = z.object({ sandboxes: z.array(z.object({ sandboxId: z.string(), state: z.string() })) });

type Cli = (words: readonly string[], minutes: number) => Promise<{ readonly code: number; readonly text: string }>;

/** Runs the sweep to its end: scored 1, and no sandbox left. @throws Error saying what was seen instead. */
export async function runLiveSweep(sweep: LiveSweep, region: string, cli: Cli): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-live-sweep-'));
  try {
    for (const [name, text] of Object.entries(experimentFiles(sweep, region)))
      writeFileSync(path.join(folder, name), text);
    const words = ['run', path.join(folder, 'experiment.yaml'), '--watch', '--cost-center', 'default', '--json'];
    const ended = await cli(words, sweep.minutes);
    if (ended.code !== 0) throw new Error(`the sweep ended with exit code ${String(ended.code)}: ${ended.text}`);
    const { units } = EndedSchema.parse(JSON.parse(ended.text));
    const [unit] = units;
    if (unit?.class !== 'scored' || unit.score !== 1) throw new Error(`seen: ${JSON.stringify(units)}`);
    const listed = await cli(['sandboxes', '--json'], 2);
    const left = SandboxesSchema.parse(JSON.parse(listed.text)).sandboxes.filter(({ state }) => state !== 'gone');
    if (left.length > 0) throw new Error(`left after the sweep: ${JSON.stringify(left)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
