import { ratioFigures } from './direct-units.ts';
import { sweepFigures } from './noop-sweep.ts';
import { machineTimeFigures } from './sandbox-machine-time.ts';

/** One measurement in a process of its own: `sweep <units>`, `ratio <units>` or `machines <units>`; prints one line of JSON. */
const [kind, count] = process.argv.slice(2);
const units = Number(count);
if (!Number.isInteger(units) || units < 1) {
  throw new RangeError(`units: ${String(count)}; needs a whole number above 0`);
}
const measures = { sweep: sweepFigures, ratio: ratioFigures, machines: machineTimeFigures };
const measure = Object.entries(measures).find(([name]) => name === kind)?.[1];
if (measure === undefined) throw new RangeError(`${String(kind)} is none of ${Object.keys(measures).join(', ')}`);
const figures = await measure(units);
process.stdout.write(`${JSON.stringify(figures)}\n`);
