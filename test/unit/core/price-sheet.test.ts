import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { priceSheetOf } from '#contracts/price-sheets';
import { priceChanges, pricesByPath, PriceSheetSchema, PriceSheetsSchema, UNIT_PRICES } from '#core/price-sheet';
import { priceSheet } from '#test/builders/costs';

describe('the committed sheet', () => {
  const sheet = priceSheetOf('us-east-1');

  it('has a price for everything, each with its source', () => {
    expect(Object.keys(sheet?.prices ?? {}).toSorted()).toEqual([...UNIT_PRICES].toSorted());
    expect(Object.keys(sheet?.machines ?? {}).length).toBeGreaterThan(20);
  });

  it('calls no price verified that does not say where in the price list it stands', () => {
    const prices = sheet === null ? [] : [...pricesByPath(sheet)];
    expect(prices.length).toBeGreaterThan(30);
    for (const [path, { verified, source }] of prices)
      expect([path, !verified || /sku \w+/u.test(source)]).toEqual([path, true]);
  });

  it('stands for no other region, and for none', () => {
    for (const region of ['eu-west-1', 'constructor', '', null]) expect(priceSheetOf(region)).toBeNull();
  });
});

describe('a price sheet', () => {
  it.each([
    ['a price of nothing', { prices: { event: { usd: 0, source: 's', verified: true } } }],
    ['a price without a source', { prices: { event: { usd: 1, source: '', verified: true } } }],
    ['a price of something else', { prices: { sunshine: { usd: 1, source: 's', verified: true } } }],
    ['another currency', { currency: 'EUR' }],
    ['a machine type that is none', { machines: { large: {} } }],
    ['no day', { date: 'yesterday' }],
  ])('is refused with %s', (_, changes) => {
    expect(PriceSheetSchema.safeParse({ ...priceSheet(), ...changes }).success).toBe(false);
  });

  it('stands under its own region', () => {
    expect(PriceSheetsSchema.safeParse({ 'eu-west-1': priceSheet() }).success).toBe(false);
  });
});

describe('what changed between two sheets', () => {
  const at = (usd: number) =>
    priceSheet({ machines: {}, prices: { event: { usd, source: 'made for tests', verified: true } } });

  it('is suspect beyond a factor of five either way, and never for a new price', () => {
    const usd = fc.double({ min: 1e-7, max: 100, noNaN: true });
    fc.assert(
      fc.property(usd, usd, (from, to) => {
        const [change] = priceChanges(at(from), at(to));
        if (from === to) expect(change).toBeUndefined();
        else expect(change?.isSuspect).toBe(to > from * 5 || to < from / 5);
      }),
    );
    expect(priceChanges(null, at(1))).toEqual([{ path: 'prices.event', before: null, after: 1, isSuspect: false }]);
  });

  it('is suspect for one that vanished', () => {
    expect(priceChanges(at(1), priceSheet({ machines: {}, prices: {} }))).toEqual([
      { path: 'prices.event', before: 1, after: null, isSuspect: true },
    ]);
  });

  it('is nothing between equals', () => {
    expect(priceChanges(priceSheet(), priceSheet({ date: '2027-01-01' }))).toEqual([]);
  });
});
