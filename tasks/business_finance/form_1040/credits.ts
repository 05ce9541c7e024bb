/** Credits of families and workers for 2024: Schedule 8812 and the earned income credit (rules.md, 5 and 6). */
import amounts from './amounts-2024.json' with { type: 'json' };
import { ageAtYearEnd, livedInHome, type Dependent, type Facts } from './facts.ts';
import { type FilingStatus } from './tax-table.ts';

export const isChildForTaxCredit = (dependent: Dependent): boolean =>
  ageAtYearEnd(dependent.birth_date) < amounts.childTaxCredit.underAge &&
  dependent.ssn_valid_for_employment &&
  livedInHome(dependent);

export interface FamilyCredit {
  /** Schedule 8812 line 14, Form 1040 line 19. */
  readonly nonrefundable: number;
  /** Schedule 8812 line 27, Form 1040 line 28. */
  readonly refundable: number;
}

/** Schedule 8812 parts I and II-A. Amounts in whole dollars; `tax` is Form 1040 line 18. */
export function computeFamilyCredit(
  dependents: readonly Dependent[],
  status: FilingStatus,
  amountsOfReturn: { readonly agi: number; readonly tax: number; readonly earnedIncome: number },
): FamilyCredit {
  const rules = amounts.childTaxCredit;
  const children = dependents.filter(isChildForTaxCredit).length;
  const tentative = children * rules.child + (dependents.length - children) * rules.otherDependent;
  const above = Math.ceil(Math.max(0, amountsOfReturn.agi - rules.phaseOutAbove[status]) / 1000) * 1000;
  const credit = Math.max(0, tentative - (above * rules.phaseOutPercent) / 100);
  const nonrefundable = Math.min(credit, amountsOfReturn.tax);
  const earned = Math.max(0, amountsOfReturn.earnedIncome - rules.refundableAbove);
  const byEarnings = Math.floor((earned * rules.refundablePercent + 50) / 100);
  const refundable = Math.min(credit - nonrefundable, children * rules.refundableLimit, byEarnings);
  return { nonrefundable, refundable };
}

/** The EIC Table: the credit at the middle of the $50 row that `income` falls into. */
export function lookUpEarnedIncomeCredit(income: number, children: number, status: FilingStatus): number {
  const rules = amounts.earnedIncomeCredit.byChildren[Math.min(children, 3)];
  if (rules === undefined || income < 1) return 0;
  const middle = Math.floor(income / 50) * 50 + 25;
  const extra = status === 'married_filing_jointly' ? amounts.earnedIncomeCredit.jointThresholdExtra : 0;
  const rising = Math.min(rules.maximum * 10_000, middle * rules.inPerTenThousand);
  const falling = rules.maximum * 10_000 - (middle - rules.threshold - extra) * rules.outPerTenThousand;
  return Math.floor((Math.max(0, Math.min(rising, falling)) + 5_000) / 10_000);
}

/** Form 1040 line 27: the smaller of the credits at the earned income and at the adjusted gross income. */
export function computeEarnedIncomeCredit(
  facts: Facts,
  status: FilingStatus,
  amountsOfReturn: { readonly agi: number; readonly earnedIncome: number; readonly investmentIncome: number },
): number {
  const { agi, earnedIncome, investmentIncome } = amountsOfReturn;
  if (investmentIncome > amounts.earnedIncomeCredit.investmentIncomeLimit) return 0;
  const children = facts.dependents.filter(
    (child) => ageAtYearEnd(child.birth_date) < 19 && child.ssn_valid_for_employment && livedInHome(child),
  ).length;
  const adults = [facts.taxpayer, ...(facts.spouse === null ? [] : [facts.spouse])];
  const isOfAge = adults.some(({ birth_date }) => ageAtYearEnd(birth_date) >= 25 && ageAtYearEnd(birth_date) < 65);
  if (children === 0 && !isOfAge) return 0;
  const rules = amounts.earnedIncomeCredit.byChildren[Math.min(children, 3)];
  if (rules === undefined || earnedIncome < 1) return 0;
  const atEarned = lookUpEarnedIncomeCredit(earnedIncome, children, status);
  const extra = status === 'married_filing_jointly' ? amounts.earnedIncomeCredit.jointThresholdExtra : 0;
  if (agi < rules.threshold + extra) return atEarned;
  return Math.min(atEarned, lookUpEarnedIncomeCredit(agi, children, status));
}
