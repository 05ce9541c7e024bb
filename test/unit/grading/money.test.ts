import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSameMoney, parseMoney } from '#grading/money';
import { isWithin, parseDecimal } from '#grading/numbers';

describe('parseMoney', () => {
  it.each([
    ['1234', 1234],
    ['$1,234.50', 1234.5],
    [' - 12.00 ', -12],
    ['(1,000)', -1000],
    ['0', 0],
  ])('reads %j as %d', (text, dollars) => {
    expect(parseMoney(text)).toBe(dollars);
  });

  it.each(['', '   ', '$', 'none', '12 dollars', '0x10', 'NaN', 'Infinity', '1.2.3', '()'])(
    'reads %j as no amount',
    (text) => {
      expect(parseMoney(text)).toBeNull();
    },
  );
});

describe('isSameMoney', () => {
  it('ignores commas, spaces, $ and trailing zeros', () => {
    expect(isSameMoney('$ 1,234.00', '1234')).toBe(true);
  });

  it('takes less than a cent as the same amount and a whole cent as another', () => {
    expect(isSameMoney('10.004', '10')).toBe(true);
    expect(isSameMoney('10.01', '10')).toBe(false);
    expect(isSameMoney('9.99', '10.00')).toBe(false);
  });

  it('takes blank for no amount, not for zero', () => {
    expect(isSameMoney('', '0')).toBe(false);
    expect(isSameMoney('', '')).toBe(false);
  });

  it('tells any two amounts of whole cents apart', () => {
    const cents = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
    fc.assert(
      fc.property(cents, cents, (a, b) => {
        expect(isSameMoney((a / 100).toFixed(2), (b / 100).toFixed(2))).toBe(a === b);
      }),
    );
  });
});

describe('numbers', () => {
  it('parses plain decimals only', () => {
    expect(['1', '-0.5', '.5', '5.', '1e3', ' 7 '].map(parseDecimal)).toEqual([1, -0.5, 0.5, 5, 1000, 7]);
    expect(['', '1,000', '0x1', '1e999', 'one', '--1'].map(parseDecimal)).toEqual([null, null, null, null, null, null]);
  });

  it('counts the tolerance itself as within, despite rounding of doubles', () => {
    expect(isWithin(0.3, 0.2, 0.1)).toBe(true);
    expect(isWithin(1.0001, 1, 0.0001)).toBe(true);
    expect(isWithin(1.0002, 1, 0.0001)).toBe(false);
    expect(isWithin(Number.NaN, 1, 1)).toBe(false);
  });
});
