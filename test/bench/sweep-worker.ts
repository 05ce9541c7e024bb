import { sweepFigures } from './noop-sweep.ts';

const trials = Number(process.argv[2]);
if (!Number.isInteger(trials) || trials < 1)
  throw new RangeError(`units: ${String(process.argv[2])}; needs a whole number above 0`);
process.stdout.write(`${JSON.stringify(await sweepFigures(trials))}\n`);
