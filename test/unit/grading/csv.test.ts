import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTable } from '#grading/csv';

const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

describe('readTable', () => {
  it('reads quoted cells with commas, quotes and line breaks', () => {
    const reading = readTable('id,note\r\n1,"a, ""b""\nc"\r\n2,\r\n');
    expect(reading).toEqual({
      ok: true,
      table: {
        columns: ['id', 'note'],
        rows: [
          { id: '1', note: 'a, "b"\nc' },
          { id: '2', note: '' },
        ],
      },
    });
  });

  it('skips a byte order mark and blank lines and trims the header', () => {
    const reading = readTable('\uFEFF id , value \n\n1,2\n');
    expect(reading.ok && reading.table).toEqual({ columns: ['id', 'value'], rows: [{ id: '1', value: '2' }] });
  });

  it.each([
    ['', 'empty'],
    ['a,a\n1,2\n', 'occurs twice'],
    ['a,b\n1\n', 'not a CSV table'],
    ['a,b\n"1,2\n', 'not a CSV table'],
  ])('refuses %j with a reason and does not throw', (text, reason) => {
    const reading = readTable(text);
    expect(reading.ok ? 'read' : reading.reason).toContain(reason);
  });

  it('refuses a table beyond the row limit', () => {
    const reading = readTable(`a\n${'1\n'.repeat(100_001)}`);
    expect(reading.ok ? 'read' : reading.reason).toContain('at most 100000');
  });

  it('gives back any cells that were written with quotes', () => {
    const cell = fc.string().map((text) => text.replaceAll('\r', ''));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 }), (rows) => {
        const text = `x,y\n${rows.map((row) => row.map(quote).join(',')).join('\n')}\n`;
        const reading = readTable(text);
        expect(reading.ok && reading.table.rows).toEqual(rows.map(([x, y]) => ({ x, y })));
      }),
    );
  });

  it('never throws for any text', () => {
    fc.assert(fc.property(fc.string(), (text) => typeof readTable(text).ok === 'boolean'));
  });
});
