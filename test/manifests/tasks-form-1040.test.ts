import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FormFields, parseMoney, type TaskModule } from '#sdk';
import {
  bundleSolution,
  evaluateOutput,
  folderNames,
  loadTaskModule,
  removeTemporaryFolders,
  runSolution,
  scoreOf,
  type StagedVariant,
  stageVariants,
  TASKS,
  temporaryFolder,
} from '#test/builders/task-folder';
import { lookUpEarnedIncomeCredit } from '../../tasks/business_finance/form_1040/credits.ts';
import { computeTax, findTableRow, type FilingStatus } from '../../tasks/business_finance/form_1040/tax-table.ts';

const TASK = 'business_finance/form_1040';
const STATUSES: readonly FilingStatus[] = ['single', 'married_filing_jointly', 'head_of_household'];

/** Rows of the published 2024 Tax Table: at least, less than, then single, joint, head of household. */
const PRINTED: readonly (readonly [number, number, number, number, number])[] = [
  [0, 5, 0, 0, 0],
  [5, 15, 1, 1, 1],
  [15, 25, 2, 2, 2],
  [25, 50, 4, 4, 4],
  [50, 75, 6, 6, 6],
  [975, 1000, 99, 99, 99],
  [2975, 3000, 299, 299, 299],
  [3000, 3050, 303, 303, 303],
  [11550, 11600, 1158, 1158, 1158],
  [11600, 11650, 1163, 1163, 1163],
  [11650, 11700, 1169, 1168, 1168],
  [16500, 16550, 1751, 1653, 1653],
  [16550, 16600, 1757, 1658, 1658],
  [16600, 16650, 1763, 1663, 1664],
  [23150, 23200, 2549, 2318, 2450],
  [23200, 23250, 2555, 2323, 2456],
  [23250, 23300, 2561, 2329, 2462],
  [25300, 25350, 2807, 2575, 2708],
  [47100, 47150, 5423, 5191, 5324],
  [47150, 47200, 5432, 5197, 5330],
  [47200, 47250, 5443, 5203, 5336],
  [94250, 94300, 15794, 10849, 14100],
  [94300, 94350, 15805, 10858, 14111],
  [94350, 94400, 15816, 10869, 14122],
  [99950, 100000, 17048, 12101, 15354],
];

afterAll(removeTemporaryFolders);

const status = fc.constantFrom(...STATUSES);

describe('the Tax Table', () => {
  it.each(PRINTED)('has the printed row %d to %d', (low, high, ...taxes) => {
    for (const income of [low, high - 1]) {
      expect(findTableRow(income)).toEqual({ low, high });
      expect(STATUSES.map((one) => computeTax(income, one))).toEqual(taxes);
    }
  });

  it('puts each income into exactly one row', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99_999 }), (income) => {
        const { low, high } = findTableRow(income);
        expect(low <= income && income < high).toBe(true);
        expect(findTableRow(high - 1)).toEqual({ low, high });
      }),
    );
  });

  it('never falls when income rises, nor rises by more than the top rate and one row', () => {
    fc.assert(
      fc.property(
        status,
        fc.integer({ min: 0, max: 900_000 }),
        fc.integer({ min: 0, max: 5_000 }),
        (one, income, more) => {
          const rise = computeTax(income + more, one) - computeTax(income, one);
          expect(rise).toBeGreaterThanOrEqual(0);
          expect(rise).toBeLessThanOrEqual((more + 50) * 0.37 + 1);
        },
      ),
    );
  });

  it('takes no more tax from a joint return than from a single one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900_000 }), (income) => {
        expect(computeTax(income, 'married_filing_jointly')).toBeLessThanOrEqual(
          computeTax(income, 'head_of_household'),
        );
        expect(computeTax(income, 'head_of_household')).toBeLessThanOrEqual(computeTax(income, 'single'));
      }),
    );
  });
});

describe('the Tax Computation Worksheet', () => {
  it('starts at $100,000 and computes on the income itself', () => {
    expect(computeTax(100_000, 'married_filing_jointly')).toBe(100_000 * 0.22 - 9_894);
    expect(computeTax(150_000, 'single')).toBe(Math.round(150_000 * 0.24 - 6_957.5));
    expect(computeTax(150_000, 'head_of_household')).toBe(150_000 * 0.24 - 8_651);
  });
});

describe('the earned income credit table', () => {
  it('gives the amounts of the worked example in Publication 596 (2024)', () => {
    expect(lookUpEarnedIncomeCredit(33_030, 2, 'married_filing_jointly')).toBe(6_247);
    expect(lookUpEarnedIncomeCredit(33_555, 2, 'married_filing_jointly')).toBe(6_131);
  });

  it.each([
    [0, 632, 18_591, 25_511],
    [1, 4_213, 49_084, 56_004],
    [2, 6_960, 55_768, 62_688],
    [3, 7_830, 59_899, 66_819],
  ])('with %d children never exceeds %d and ends at the published incomes', (children, maximum, end, jointEnd) => {
    const ends = { single: end, head_of_household: end, married_filing_jointly: jointEnd };
    fc.assert(
      fc.property(status, fc.integer({ min: 0, max: 80_000 }), (one, income) => {
        const credit = lookUpEarnedIncomeCredit(income, children, one);
        expect(credit).toBeGreaterThanOrEqual(0);
        expect(credit).toBeLessThanOrEqual(maximum);
        if (income >= ends[one] + 50) expect(credit).toBe(0);
        if (income >= 100 && income < ends[one] - 50) expect(credit).toBeGreaterThan(0);
      }),
    );
  });
});

describe('the returns', () => {
  const variants = folderNames(path.join(TASKS, TASK, 'reference'));
  let module: TaskModule;
  let staged: readonly StagedVariant[];

  beforeAll(async () => {
    module = await loadTaskModule(TASK);
    staged = await stageVariants(TASK, module);
    const solve = await bundleSolution(TASK);
    for (const variant of staged) await runSolution(solve, variant);
  });

  const readFields = async (file: string): Promise<FormFields> =>
    (JSON.parse(await readFile(file, 'utf8')) as { readonly fields: FormFields }).fields;

  /** Blank and zero are the same; amounts are numbers. */
  const normalize = (value: string | readonly string[]): unknown =>
    typeof value === 'string' ? (value === '' ? 0 : (parseMoney(value) ?? value)) : [...value].sort();

  it('has five of them', () => {
    expect(variants).toHaveLength(5);
    expect(staged.map(({ variant }) => variant.name)).toEqual(variants);
  });

  it.each(variants)('%s: solution and reference agree in every field', async (name) => {
    const at = staged.find(({ variant }) => variant.name === name);
    for (const form of name === 'variant_5' ? ['form1040', 'form1040s1'] : ['form1040']) {
      const reference = await readFields(path.join(TASKS, TASK, 'reference', name, `${form}_gt.json`));
      const solution = await readFields(path.join(at?.paths.output ?? '', `${form}_output.json`));
      const differing = Object.keys({ ...reference, ...solution }).filter(
        (field) =>
          JSON.stringify(normalize(reference[field] ?? 'no such field')) !==
          JSON.stringify(normalize(solution[field] ?? 'no such field')),
      );
      expect(differing).toEqual([]);
    }
  });

  it('accepts the alternate treatment in full, but no mixture of both', async () => {
    const at = staged[0];
    if (at === undefined) throw new Error('no variant');
    const output = await temporaryFolder();
    const alternate = await readFile(path.join(TASKS, TASK, 'reference', at.variant.name, 'form1040_alt.json'), 'utf8');
    const file = path.join(output, 'form1040_output.json');
    await writeFile(file, alternate);
    expect(scoreOf(await evaluateOutput(module, at, output))).toBe(1);

    const mixed = JSON.parse(alternate) as { fields: Record<string, unknown> };
    mixed.fields['line_34'] = String(Math.round(Number(mixed.fields['line_34'])));
    await writeFile(file, JSON.stringify(mixed));
    expect(scoreOf(await evaluateOutput(module, at, output))).toBeLessThan(1);
  });
});
