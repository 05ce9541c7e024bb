/** Cleans the reads, then computes both outputs as the instruction says. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readTable } from '#sdk';

type Row = Readonly<Record<string, string>>;
type Reading = number | 'overflow' | 'missing';

interface Well {
  readonly plate: string;
  readonly role: string;
  readonly sampleId: string;
  readonly doseNm: number;
  readonly reading: Reading;
}

function folder(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`environment variable ${name} is not set`);
  return value;
}

async function readRows(file: string): Promise<readonly Row[]> {
  const reading = readTable(await readFile(path.join(folder('TASK_INPUT'), file), 'utf8'));
  if (!reading.ok) throw new Error(`${file}: ${reading.reason}`);
  return reading.table.rows;
}

const text = (row: Row, column: string): string => row[column] ?? '';
const plateOf = (row: Row): string => text(row, 'plate').trim().toUpperCase();

function wellOf(row: Row): string {
  const name = text(row, 'well').trim().toUpperCase();
  return `${name.slice(0, 1)}${Number(name.slice(1))}`;
}

const placeOf = (row: Row): string => `${plateOf(row)} ${wellOf(row)}`;

/** Milliseconds since 1970 of either form of time, both UTC. */
function timeOf(row: Row): number {
  const written = text(row, 'read_at');
  const time = Date.parse(written.endsWith('Z') ? written : `${written} UTC`);
  if (Number.isNaN(time)) throw new Error(`read_at ${JSON.stringify(written)} is no time`);
  return time;
}

function readingOf(row: Row): Reading {
  const signal = text(row, 'signal').trim();
  if (signal === 'OVRFLW') return 'overflow';
  if (signal === '' || signal === 'n/a') return 'missing';
  const number = Number(signal.replaceAll(',', ''));
  return text(row, 'unit') === 'mAU' ? number / 1000 : number;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function deviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}

const round = (value: number, decimals: number): number => Number(value.toFixed(decimals));
const isNumber = (reading: Reading): reading is number => typeof reading === 'number';

/** Everything the outputs need of one plate. */
function studyPlate(wells: readonly Well[], supersededReads: number) {
  const valid = (role: string): readonly number[] =>
    wells
      .filter((well) => well.role === role)
      .map((well) => well.reading)
      .filter(isNumber);
  const blankMean = mean(valid('blank'));
  const corrected = (role: string): readonly number[] => valid(role).map((reading) => reading - blankMean);
  const [negative, positive] = [corrected('negative'), corrected('positive')];
  const [negativeMean, positiveMean] = [mean(negative), mean(positive)];
  const zPrime = 1 - (3 * (deviation(positive) + deviation(negative))) / Math.abs(positiveMean - negativeMean);
  const count = (kind: (reading: Reading) => boolean): number => wells.filter((well) => kind(well.reading)).length;
  const summary = {
    blank_mean_au: round(blankMean, 4),
    negative_mean_au: round(negativeMean, 4),
    positive_mean_au: round(positiveMean, 4),
    z_prime: round(zPrime, 4),
    valid_wells: count(isNumber),
    overflow_wells: count((reading) => reading === 'overflow'),
    missing_wells: count((reading) => reading === 'missing'),
    superseded_reads: supersededReads,
    passed: zPrime >= 0.5,
  };
  const doseRow = (group: readonly Well[]): readonly string[] => {
    const values = group
      .map((well) => well.reading)
      .filter(isNumber)
      .map((reading) => reading - blankMean);
    const centre = mean(values);
    const inhibition = (100 * (negativeMean - centre)) / (negativeMean - positiveMean);
    return [
      String(values.length),
      values.length === 0 ? '' : centre.toFixed(4),
      values.length < 2 ? '' : ((100 * deviation(values)) / centre).toFixed(2),
      values.length === 0 ? '' : inhibition.toFixed(2),
    ];
  };
  const samples = wells.filter((well) => well.role === 'sample');
  const groups = groupBy(samples, (well) => JSON.stringify([well.plate, well.sampleId, String(well.doseNm)]));
  const doses = [...groups].map(([key, group]) => [...(JSON.parse(key) as string[]), ...doseRow(group)]);
  return { summary, doses };
}

const reads = (await readRows('reads.csv')).filter((row) => text(row, 'wavelength_nm').trim() === '450');
const distinct = [...new Map(reads.map((row) => [text(row, 'read_id'), row])).values()];
const byWell = groupBy(distinct, placeOf);
const latest = (rows: readonly Row[]): Row | undefined => [...rows].sort((a, b) => timeOf(b) - timeOf(a))[0];

const layout = await readRows('layout.csv');
const wells = layout.map((row): Well => {
  const read = latest(byWell.get(placeOf(row)) ?? []);
  const scale = text(row, 'dose_unit') === 'nM' ? 1 : 1000;
  return {
    plate: plateOf(row),
    role: text(row, 'role'),
    sampleId: text(row, 'sample_id'),
    doseNm: round(Number(text(row, 'dose')) * scale, 6),
    reading: read === undefined ? 'missing' : readingOf(read),
  };
});

const superseded = (plate: string): number =>
  [...byWell].reduce((sum, [place, rows]) => sum + (place.startsWith(`${plate} `) ? rows.length - 1 : 0), 0);
const studies = [...groupBy(wells, (well) => well.plate)].map(
  ([plate, group]) => [plate, studyPlate(group, superseded(plate))] as const,
);

const COLUMNS = ['plate', 'sample_id', 'dose_nm', 'n_valid', 'mean_corrected_au', 'cv_percent', 'inhibition_percent'];
const cell = (value: string): string => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const lines = [COLUMNS, ...studies.flatMap(([, study]) => study.doses)].map((cells) => cells.map(cell).join(','));
const summary = {
  plates: Object.fromEntries(studies.map(([plate, study]) => [plate, study.summary])),
  plates_passed: studies.filter(([, study]) => study.summary.passed).length,
};

await mkdir(folder('TASK_OUTPUT'), { recursive: true });
await writeFile(path.join(folder('TASK_OUTPUT'), 'doses.csv'), `${lines.join('\n')}\n`);
await writeFile(path.join(folder('TASK_OUTPUT'), 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`);
