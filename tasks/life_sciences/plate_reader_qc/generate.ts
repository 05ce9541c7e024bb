/**
 * Makes the input tables of this task from a seed: four plates of 96 wells as two readers and an operator left them.
 * Run `npx tsx tasks/life_sciences/plate_reader_qc/generate.ts` to write them again; the same seed gives the same bytes.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const SEED = 20240305;
const PLATES = ['PL-01', 'PL-02', 'PL-03', 'PL-04'];
const COMPOUNDS = ['CMP-101', 'CMP-102', 'CMP-103, batch "B"', 'CMP-104'];
const DOSES_NM = [3, 10, 30, 100, 300, 1000, 3000, 10000];
/** Signal at which each compound has half its effect. */
const HALF_DOSE_NM = [40, 220, 900, 5200];

type Random = () => number;

/** mulberry32: a small generator whose sequence is fixed by its seed. */
function makeRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** About normal: the sum of twelve uniform numbers. */
const noise = (random: Random, spread: number): number =>
  (Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, 0) - 6) * spread;

const pick = <T>(random: Random, values: readonly [T, ...T[]]): T =>
  values[Math.floor(random() * values.length)] ?? values[0];

interface Well {
  readonly plate: string;
  readonly row: number;
  readonly column: number;
  readonly role: 'blank' | 'negative' | 'positive' | 'sample';
  readonly sample: string;
  readonly doseNm: number | null;
  readonly signal: number;
}

/** Columns 1 and 12 hold controls; each pair of rows holds one compound, its doses in columns 3 to 10, two replicates. */
function makeWells(random: Random): readonly Well[] {
  return PLATES.flatMap((plate, plateIndex) => {
    const blank = 0.048 + plateIndex * 0.004;
    const spread = plateIndex === 2 ? 0.2 : 0.025;
    return Array.from({ length: 96 }, (_, index): Well => {
      const [row, column] = [Math.floor(index / 12), (index % 12) + 1];
      const place = { plate, row, column };
      if (column === 1) {
        return { ...place, role: 'blank', sample: '', doseNm: null, signal: blank + noise(random, 0.002) };
      }
      if (column === 2 || column === 11) {
        return { ...place, role: 'negative', sample: '', doseNm: null, signal: blank + 1.42 + noise(random, spread) };
      }
      if (column === 12) {
        return {
          ...place,
          role: 'positive',
          sample: '',
          doseNm: null,
          signal: blank + 0.11 + noise(random, spread / 3),
        };
      }
      const compound = (Math.floor(row / 2) + plateIndex) % COMPOUNDS.length;
      const doseNm = DOSES_NM[column - 3] ?? 0;
      const effect = doseNm / (doseNm + (HALF_DOSE_NM[compound] ?? 1));
      const signal = blank + 1.42 - 1.31 * effect + noise(random, spread);
      return { ...place, role: 'sample', sample: COMPOUNDS[compound] ?? '', doseNm, signal };
    });
  });
}

const LETTERS = 'ABCDEFGH';
const two = (value: number): string => String(value).padStart(2, '0');

function writeWell(random: Random, well: Well): string {
  const letter = LETTERS[well.row] ?? 'A';
  return pick(random, [
    `${letter}${two(well.column)}`,
    `${letter}${two(well.column)}`,
    `${letter}${well.column}`,
    `${letter.toLowerCase()}${well.column}`,
  ]);
}

const writePlate = (random: Random, plate: string): string =>
  pick(random, [plate, plate, plate, plate.toLowerCase(), ` ${plate}`, `${plate} `]);

function writeDose(random: Random, doseNm: number): readonly [string, string] {
  if (doseNm >= 1000)
    return pick(random, [
      [String(doseNm / 1000), 'uM'],
      [String(doseNm / 1000), 'µM'],
      [`${doseNm}`, 'nM'],
    ]);
  return pick(random, [
    [String(doseNm), 'nM'],
    [String(doseNm), 'nM'],
    [String(doseNm / 1000), 'uM'],
  ]);
}

/** Quotes a cell that needs it (RFC 4180). */
const cell = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const line = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\n`;

function makeLayout(random: Random, wells: readonly Well[]): string {
  const rows = wells.map((well) => {
    const [dose, unit] = well.doseNm === null ? ['', ''] : writeDose(random, well.doseNm);
    const name = `${LETTERS[well.row] ?? 'A'}${two(well.column)}`;
    return line([well.plate, name, well.role, well.sample, dose, unit]);
  });
  return line(['plate', 'well', 'role', 'sample_id', 'dose', 'dose_unit']) + rows.join('');
}

interface Read {
  readonly well: Well;
  /** Minutes after 08:00 UTC on the plate's day. */
  readonly minute: number;
  readonly signal: string;
  readonly unit: string;
  readonly wavelength: string;
  readonly note: string;
}

const MONTH = '03';
const DAYS = [5, 6, 11, 12];

/** Plates 1 and 3 are read by a reader that writes ISO times, 2 and 4 by one that writes `05 Mar 2024 8:07`. */
function writeTime(plateIndex: number, minute: number): string {
  const day = DAYS[plateIndex] ?? 1;
  const [hour, rest] = [8 + Math.floor(minute / 60), minute % 60];
  return plateIndex % 2 === 0
    ? `2024-${MONTH}-${two(day)}T${two(hour)}:${two(rest)}:00Z`
    : `${two(day)} Mar 2024 ${hour}:${two(rest)}`;
}

function writeSignal(random: Random, signal: number): readonly [string, string] {
  if (random() < 0.2) return [(signal * 1000).toFixed(1).replace(/^(\d)(\d{3})\./, '$1,$2.'), 'mAU'];
  return [signal.toFixed(4), 'AU'];
}

const NOTES = ['', '', '', '', '', 'ok', 'bubble, see well "A1"', 'lid on', 'checked\nagain'] as const;

function makeReads(random: Random, wells: readonly Well[]): readonly Read[] {
  return wells.flatMap((well, index): Read[] => {
    const minute = Math.floor((index % 96) / 4);
    const [signal, unit] = writeSignal(random, well.signal);
    const base = { well, minute, signal, unit, wavelength: '450', note: pick(random, NOTES) };
    const draw = random();
    if (draw < 0.012) return [{ ...base, signal: 'OVRFLW' }];
    if (draw < 0.024) return [{ ...base, signal: pick(random, ['', 'n/a']), unit: '' }];
    if (draw < 0.075) {
      const [early, earlyUnit] = writeSignal(random, well.signal * (1.2 + random() * 0.5));
      const later = minute + 61 + Math.floor(random() * 30);
      return [
        { ...base, signal: early, unit: earlyUnit, note: 're-read below' },
        { ...base, minute: later },
      ];
    }
    if (draw < 0.11)
      return [base, { ...base, wavelength: '620', signal: (0.04 + random() * 0.01).toFixed(4), unit: 'AU' }];
    return [base];
  });
}

function writeReads(random: Random, reads: readonly Read[]): string {
  const shuffled = reads
    .map((read, index) => ({ read, id: `R${String(index + 1).padStart(4, '0')}`, order: random() }))
    .sort((a, b) => a.order - b.order);
  const rows = shuffled.flatMap(({ read, id }) => {
    const plateIndex = PLATES.indexOf(read.well.plate);
    const row = line([
      id,
      writePlate(random, read.well.plate),
      writeWell(random, read.well),
      writeTime(plateIndex, read.minute),
      read.wavelength,
      read.signal,
      read.unit,
      read.note,
    ]);
    return random() < 0.015 ? [row, row] : [row];
  });
  return line(['read_id', 'plate', 'well', 'read_at', 'wavelength_nm', 'signal', 'unit', 'note']) + rows.join('');
}

/** File name to content, for the variant `base`. */
export function generateInput(): Readonly<Record<string, string>> {
  const random = makeRandom(SEED);
  const wells = makeWells(random);
  const reads = makeReads(random, wells);
  return { 'layout.csv': makeLayout(random, wells), 'reads.csv': writeReads(random, reads) };
}

const folder = path.dirname(fileURLToPath(import.meta.url));
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, content] of Object.entries(generateInput())) {
    writeFileSync(path.join(folder, 'input/base', name), content);
  }
}
