/** Form 1040 (2024), line by line in whole dollars (rules.md names the source of each rule). */
import amounts from './amounts-2024.json' with { type: 'json' };
import { computeEarnedIncomeCredit, computeFamilyCredit } from './credits.ts';
import { findFilingStatus, sumBoxes, toCents, toDollars, type Facts, type Folder, type Person } from './facts.ts';
import { computeAdditionalIncome, computeAdjustments, type Lines } from './schedule-1.ts';
import { computeTax, type FilingStatus } from './tax-table.ts';

export interface Return {
  readonly status: FilingStatus;
  readonly lines: Lines;
  readonly schedule1: Lines;
}

export function computeReturn(folder: Folder): Return {
  const { facts } = folder;
  const status = findFilingStatus(facts);
  const additional = computeAdditionalIncome(folder);
  const income = computeIncome(folder, at(additional, '10'));
  const adjustments = computeAdjustments(folder, at(income, '9'), status);
  const agi = at(income, '9') - at(adjustments, '26');
  const deduction = Math.max(findStandardDeduction(facts, status), computeItemizedDeduction(folder, agi));
  const taxable = Math.max(0, agi - deduction);
  const base = { ...income, '10': at(adjustments, '26'), '11': agi, '12': deduction, '14': deduction, '15': taxable };
  const credited = computeTaxAndCredits(folder, status, base);
  const lines = { ...base, ...credited, ...settle(folder, credited) };
  return { status, lines, schedule1: { ...additional, ...adjustments } };
}

export const at = (lines: Lines, name: string): number => lines[name] ?? 0;

/** Lines 1a to 9. Gross distributions (4a, 5a) are entered only where they are not fully taxable. */
function computeIncome({ forms }: Folder, additionalIncome: number): Lines {
  const wages = toDollars(sumBoxes(forms, 'W-2', ['box_1_wages_tips_other_compensation']));
  const exempt = toDollars(sumBoxes(forms, '1099-INT', ['box_8_tax_exempt_interest']));
  const interestBoxes = ['box_1_interest_income', 'box_3_interest_on_us_savings_bonds_and_treasury_obligations'];
  const interest = toDollars(sumBoxes(forms, '1099-INT', interestBoxes));
  const [ira, pensions] = [true, false].map((isIra) => {
    const chosen = forms.filter((form) => form['box_7_ira_sep_simple'] === isIra);
    const gross = toDollars(sumBoxes(chosen, '1099-R', ['box_1_gross_distribution']));
    const taxable = toDollars(sumBoxes(chosen, '1099-R', ['box_2a_taxable_amount']));
    return { gross: gross === taxable ? 0 : gross, taxable };
  });
  const total = wages + interest + (ira?.taxable ?? 0) + (pensions?.taxable ?? 0) + additionalIncome;
  return {
    '1a': wages,
    '1z': wages,
    '2a': exempt,
    '2b': interest,
    '4a': ira?.gross ?? 0,
    '4b': ira?.taxable ?? 0,
    '5a': pensions?.gross ?? 0,
    '5b': pensions?.taxable ?? 0,
    '8': additionalIncome,
    '9': total,
  };
}

export const isAged = (person: Person): boolean => person.birth_date < amounts.bornBefore;

function findStandardDeduction(facts: Facts, status: FilingStatus): number {
  const people = [facts.taxpayer, ...(facts.spouse === null ? [] : [facts.spouse])];
  const boxes = people.filter(isAged).length + people.filter((person) => person.blind).length;
  return amounts.standardDeduction[status] + boxes * amounts.additionalDeduction[status];
}

/** Schedule A line 17; 0 when the taxpayer brings nothing for it. */
function computeItemizedDeduction({ facts, forms }: Folder, agi: number): number {
  const paid = facts.schedule_a;
  if (paid === undefined) return 0;
  const dollars = (amount: string): number => toDollars(toCents(amount));
  const medical = Math.max(0, dollars(paid.medical_and_dental_expenses) - Math.floor((agi * 75 + 500) / 1000));
  const stateTax = toDollars(sumBoxes(forms, 'W-2', ['box_17_state_income_tax']));
  const taxes = Math.min(amounts.stateAndLocalTaxLimit, stateTax + dollars(paid.real_estate_taxes_on_home));
  return medical + taxes + dollars(paid.mortgage_interest_form_1098_box_1) + dollars(paid.cash_gifts_to_charity);
}

/** Lines 16 to 24, 27 and 28. */
function computeTaxAndCredits({ facts, forms }: Folder, status: FilingStatus, lines: Lines): Lines {
  const tax = computeTax(at(lines, '15'), status);
  const [agi, earnedIncome] = [at(lines, '11'), at(lines, '1z')];
  const family = computeFamilyCredit(facts.dependents, status, { agi, tax, earnedIncome });
  const investmentIncome = at(lines, '2a') + at(lines, '2b');
  const early = forms.filter((form) => form['box_7_distribution_codes'] === '1');
  const earlyTaxable = toDollars(sumBoxes(early, '1099-R', ['box_2a_taxable_amount']));
  const additionalTax = Math.floor((earlyTaxable * amounts.earlyDistributionPercent + 50) / 100);
  const afterCredits = Math.max(0, tax - family.nonrefundable);
  return {
    '16': tax,
    '18': tax,
    '19': family.nonrefundable,
    '21': family.nonrefundable,
    '22': afterCredits,
    '23': additionalTax,
    '24': afterCredits + additionalTax,
    '27': computeEarnedIncomeCredit(facts, status, { agi, earnedIncome, investmentIncome }),
    '28': family.refundable,
  };
}

/** Lines 25a to 37: payments, and the refund or the amount owed. */
function settle({ facts, forms }: Folder, lines: Lines): Lines {
  const box4 = 'box_4_federal_income_tax_withheld';
  const fromWages = toDollars(sumBoxes(forms, 'W-2', ['box_2_federal_income_tax_withheld']));
  const from1099 = toDollars(
    sumBoxes(forms, '1099-INT', [box4]) + sumBoxes(forms, '1099-R', [box4]) + sumBoxes(forms, '1099-MISC', [box4]),
  );
  const estimated = toDollars(toCents(facts.estimated_tax_payments));
  const refundable = at(lines, '27') + at(lines, '28');
  const payments = fromWages + from1099 + estimated + refundable;
  const overpaid = Math.max(0, payments - at(lines, '24'));
  const applied = Math.min(overpaid, toDollars(toCents(facts.apply_to_next_year_estimated_tax)));
  return {
    '25a': fromWages,
    '25b': from1099,
    '25d': fromWages + from1099,
    '26': estimated,
    '32': refundable,
    '33': payments,
    '34': overpaid,
    '35a': overpaid - applied,
    '36': applied,
    '37': Math.max(0, at(lines, '24') - payments),
  };
}
