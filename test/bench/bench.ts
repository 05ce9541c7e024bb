import { spawn } from 'node:child_process';
import path from 'node:path';
import type { RatioFigures } from './direct-units.ts';
import type { SweepFigures } from './noop-sweep.ts';
import type { MachineTimeFigures } from './sandbox-machine-time.ts';

/**
 * `npm run bench`: what the pipeline itself costs, as ratios within this one run; times are this machine's. Exit code 1
 * when a unit of a large sweep costs more than one of the smallest, or its process holds more, by over 20 %.
 * `npm run bench -- 100 1000` takes other sizes; `npm run bench -- desktop` is another bench, of the way to a desktop, and
 * `npm run bench -- machines` the part about machines of EC2 alone.
 */
const DEFAULT_SIZES = [100, 1000, 10_000];
const RATIO_UNITS = 100;
const FLAT_WITHIN = 0.2;
/** Each is a machine of the stand-in, with processes of its own. */
const MACHINES = 4;

async function measure<T>(kind: 'sweep' | 'ratio' | 'machines', units: number): Promise<T> {
  const worker = path.join(import.meta.dirname, 'sweep-worker.ts');
  const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', worker, kind, String(units)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`measuring ${kind} ${String(units)} ended with ${String(code)}`);
  return JSON.parse(text) as T;
}

function row(cells: readonly (string | number)[]): string {
  return cells.map((cell, index) => (index === 0 ? String(cell).padEnd(12) : String(cell).padStart(14))).join('');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (process.argv[2] === 'desktop') {
  const { benchDesktop } = await import('./desktop.ts');
  await benchDesktop();
  process.exit(0);
}

/** Machines of the stand-in are namespaces of this computer. */
async function benchMachines(): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    say('machines of EC2: not measured, for the stand-in needs root on Linux');
    return;
  }
  const { tellMachineTime } = await import('./sandbox-machine-time.ts');
  for (const line of tellMachineTime(await measure<MachineTimeFigures>('machines', MACHINES))) say(line);
}

if (process.argv[2] === 'machines') {
  await benchMachines();
  process.exit(0);
}

const given = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : DEFAULT_SIZES;

const ratio = await measure<RatioFigures>('ratio', RATIO_UNITS);
say(`one unit at a time, ${String(ratio.units)} units, no-op sandboxes`);
say(row(['machines', `${ratio.machineMilliseconds.toFixed(1)} ms/unit`]));
say(row(['handlers', `${ratio.directMilliseconds.toFixed(1)} ms/unit`]));
say(row(['ratio', (ratio.machineMilliseconds / ratio.directMilliseconds).toFixed(2)]));

say('\nsweeps on no-op sandboxes, each in a process of its own');
say(
  '(held: resident memory after a collection, the highest of looks every five seconds; live: objects alone, likewise;',
);
say(' kept: live memory that each finished unit leaves behind; peak: resident at any moment, garbage included)');
say(row(['units', 'units/s', 'cpu ms/unit', 'held MiB', 'live MiB', 'kept KiB/unit', 'peak MiB', 'completed']));
const figures: SweepFigures[] = [];
for (const size of sizes) {
  const seen = await measure<SweepFigures>('sweep', size);
  figures.push(seen);
  const { memory } = seen;
  const cpu = (seen.cpuSeconds * 1000) / seen.units;
  say(
    row([
      seen.units,
      (seen.units / seen.wallSeconds).toFixed(1),
      cpu.toFixed(1),
      memory.heldMiB.toFixed(0),
      memory.liveMostMiB.toFixed(1),
      (((memory.liveAfterMiB - memory.liveBeforeMiB) * 1024) / seen.units).toFixed(1),
      memory.peakMiB.toFixed(0),
      seen.completed,
    ]),
  );
}

function verdict(what: string, ratio: number): string {
  const isFlat = ratio <= 1 + FLAT_WITHIN;
  if (!isFlat) process.exitCode = 1;
  return `${what} x${ratio.toFixed(2)} (${isFlat ? 'flat' : 'NOT flat'} within ${String(FLAT_WITHIN * 100)} %)`;
}

say('');
const [first, ...later] = figures;
for (const seen of later) {
  if (first === undefined) break;
  const cost = verdict('cost per unit', seen.cpuSeconds / seen.units / (first.cpuSeconds / first.units));
  const memory = verdict('memory held', seen.memory.heldMiB / first.memory.heldMiB);
  say(`${String(seen.units)} against ${String(first.units)}: ${cost}, ${memory}`);
}
for (const { units, completed } of figures) {
  if (completed === units) continue;
  process.exitCode = 1;
  say(`${String(units - completed)} of ${String(units)} units did NOT complete`);
}

say('');
await benchMachines();
