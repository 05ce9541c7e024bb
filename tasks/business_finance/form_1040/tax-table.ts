/** Income tax for 2024: the Tax Table below $100,000, the Tax Computation Worksheet from there on (rules.md, 4). */
import amounts from './amounts-2024.json' with { type: 'json' };

export type FilingStatus = keyof typeof amounts.rates;

/** The row of the printed Tax Table that a taxable income falls into: at least `low`, less than `high`. */
export function findTableRow(taxableIncome: number): { readonly low: number; readonly high: number } {
  if (taxableIncome < 5) return { low: 0, high: 5 };
  if (taxableIncome < 25) return { low: taxableIncome < 15 ? 5 : 15, high: taxableIncome < 15 ? 15 : 25 };
  const width = taxableIncome < 3000 ? 25 : 50;
  const low = Math.floor(taxableIncome / width) * width;
  return { low, high: low + width };
}

/** Tax by the rate schedule on half of `twiceIncome`, in two-hundredths of a dollar, which is exact. */
function scheduleTax(twiceIncome: number, status: FilingStatus): number {
  let tax = 0;
  let from = 0;
  for (const { upTo, percent } of amounts.rates[status]) {
    const to = upTo === null ? twiceIncome : Math.min(twiceIncome, upTo * 2);
    if (to > from) tax += (to - from) * percent;
    from = upTo === null ? from : upTo * 2;
  }
  return tax;
}

/** Form 1040 line 16 for a taxable income in whole dollars, in whole dollars; half a dollar rounds up. */
export function computeTax(taxableIncome: number, status: FilingStatus): number {
  if (taxableIncome <= 0) return 0;
  const row = findTableRow(taxableIncome);
  const twice = taxableIncome < amounts.taxTableBelow ? row.low + row.high : taxableIncome * 2;
  return Math.floor((scheduleTax(twice, status) + 100) / 200);
}
