import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Table } from '#grading/csv';
import { compareTables, type TableRules } from '#grading/table';

const RULES: TableRules = { key: ['id'], values: { name: { kind: 'text' }, size: { kind: 'number', tolerance: 0.1 } } };

const table = (...rows: readonly [string, string, string][]): Table => ({
  columns: ['id', 'name', 'size'],
  rows: rows.map(([id, name, size]) => ({ id, name, size })),
});

const EXPECTED = table(['1', 'ant', '2.0'], ['2', 'bee', ''], ['3', 'cow', '9']);

describe('compareTables', () => {
  it('gives 1 for the same rows in another order, within tolerance', () => {
    const actual = table(['3', ' cow ', '9.1'], ['2', 'bee', ''], ['01', 'ant', '1.95']);
    expect(compareTables(actual, EXPECTED, RULES)).toMatchObject({ score: 1, rightCells: 6, cells: 6 });
  });

  it('counts each wrong cell', () => {
    const actual = table(['1', 'ant', '2.2'], ['2', 'bee', '0'], ['3', 'Cow', 'nine']);
    expect(compareTables(actual, EXPECTED, RULES)).toMatchObject({ rightCells: 2, cells: 6 });
  });

  it('counts a missing row as lost and an unknown row against', () => {
    const actual = table(['1', 'ant', '2'], ['4', 'dog', '1'], ['3', 'cow', '9']);
    expect(compareTables(actual, EXPECTED, RULES)).toMatchObject({
      rightCells: 4,
      cells: 8,
      missingRows: 1,
      extraRows: 1,
    });
  });

  it('gives nothing for a key that stands twice, right or wrong', () => {
    const actual = table(['1', 'ant', '2'], ['1', 'ant', '2'], ['2', 'bee', ''], ['3', 'cow', '9']);
    expect(compareTables(actual, EXPECTED, RULES)).toMatchObject({ rightCells: 4, cells: 8, extraRows: 1 });
  });

  it('names missing columns, ignores added ones, and gives 0 without the key', () => {
    const rows = EXPECTED.rows.map((row) => ({ id: row['id'] ?? '', name: row['name'] ?? '', more: 'x' }));
    const actual = { columns: ['id', 'name', 'more'], rows };
    expect(compareTables(actual, EXPECTED, RULES)).toMatchObject({ score: 0.5, missingColumns: ['size'] });
    const keyless = { columns: ['name', 'size'], rows: EXPECTED.rows };
    expect(compareTables(keyless, EXPECTED, RULES).score).toBe(0);
  });

  it('refuses a broken reference', () => {
    expect(() => compareTables(EXPECTED, table(), RULES)).toThrow('no rows');
    expect(() => compareTables(EXPECTED, { columns: ['id'], rows: [{ id: '1' }] }, RULES)).toThrow('name, size');
    expect(() => compareTables(EXPECTED, table(['1', 'a', '1'], ['1.0', 'b', '2']), RULES)).toThrow('repeats');
  });

  it('keeps every score in [0,1], and 1 only for the expected rows', () => {
    const cell = fc.constantFrom('1', '2', '3', 'ant', 'bee', '');
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, cell), { maxLength: 6 }), (rows) => {
        const { score } = compareTables(table(...rows), EXPECTED, RULES);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThan(1);
      }),
    );
  });
});
