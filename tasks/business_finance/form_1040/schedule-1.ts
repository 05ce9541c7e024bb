/** Schedule 1 (2024): additional income and adjustments (rules.md, 3). Whole dollars, by line. */
import amounts from './amounts-2024.json' with { type: 'json' };
import { sumBoxes, toCents, toDollars, type Folder } from './facts.ts';
import { type FilingStatus } from './tax-table.ts';

export type Lines = Readonly<Record<string, number>>;

/** Lines 5 to 10. */
export function computeAdditionalIncome({ facts, forms }: Folder): Lines {
  if (sumBoxes(forms, '1099-MISC', ['box_1_rents']) > 0) throw new Error('rents are not covered');
  const kindOf = (payer: unknown): string | undefined =>
    facts.other_income?.find((income) => income.payer === payer)?.kind;
  const other = forms.filter((form) => form.form === '1099-MISC' && form['box_3_other_income'] !== '');
  const prizes = other.filter((form) => kindOf(form['payer']) === 'prize');
  const rest = other.filter((form) => !prizes.includes(form));
  const box3 = (chosen: typeof other): number => toDollars(sumBoxes(chosen, '1099-MISC', ['box_3_other_income']));
  const line5 = toDollars(sumBoxes(forms, '1099-MISC', ['box_2_royalties']));
  const line8h = toDollars(toCents(facts.jury_duty?.pay));
  const [line8i, line8z] = [box3(prizes), box3(rest)];
  const line9 = line8h + line8i + line8z;
  return { '5': line5, '8h': line8h, '8i': line8i, '8z': line8z, '9': line9, '10': line5 + line9 };
}

/** Lines 11 to 26; `totalIncome` is Form 1040 line 9. */
export function computeAdjustments({ facts, forms }: Folder, totalIncome: number, status: FilingStatus): Lines {
  const isEducator = (facts.educator?.hours_in_school_year ?? 0) >= 900;
  const classroom = toDollars(toCents(facts.educator?.unreimbursed_classroom_expenses));
  const line11 = isEducator ? Math.min(classroom, amounts.educatorExpenseLimit) : 0;
  const line18 = toDollars(sumBoxes(forms, '1099-INT', ['box_2_early_withdrawal_penalty']));
  const line24a = toDollars(toCents(facts.jury_duty?.paid_over_to_employer));
  const interest = toDollars(toCents(facts.student_loan_interest_form_1098_e));
  const line21 = computeStudentLoanInterest(interest, totalIncome - line11 - line18 - line24a, status);
  const line26 = line11 + line18 + line21 + line24a;
  return { '11': line11, '18': line18, '21': line21, '24a': line24a, '25': line24a, '26': line26 };
}

/** Student Loan Interest Deduction Worksheet; the ratio is rounded to three places, as its boxes are printed. */
function computeStudentLoanInterest(paid: number, modifiedIncome: number, status: FilingStatus): number {
  const rules = amounts.studentLoanInterest;
  const interest = Math.min(paid, rules.limit);
  if (interest > 0 && status === 'married_filing_jointly')
    throw new Error('joint student loan interest is not covered');
  const above = Math.max(0, modifiedIncome - rules.phaseOutFrom);
  const thousandths = Math.min(1000, Math.round((above * 1000) / rules.phaseOutRange));
  return interest - Math.floor((interest * thousandths + 500) / 1000);
}
