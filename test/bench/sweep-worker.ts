import { ratioFigures } from './direct-units.ts';
import { sweepFigures } from './noop-sweep.ts';

/** One measurement in a process of its own: `sweep <units>` or `ratio <units>`; prints one line of JSON. */
const [kind, count] = process.argv.slice(2);
const units = Number(count);
if (!Number.isInteger(units) || units < 1) {
  throw new RangeError(`units: ${String(count)}; needs a whole number above 0`);
}
const figures = kind === 'ratio' ? await ratioFigures(units) : await sweepFigures(units);
process.stdout.write(`${JSON.stringify(figures)}\n`);
