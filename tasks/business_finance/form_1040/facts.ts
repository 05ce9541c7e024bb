/** What the taxpayer brings: the facts file and the information returns, typed, and what can be read off them. */
import { type FilingStatus } from './tax-table.ts';

export interface Person {
  readonly first_name_and_initial: string;
  readonly last_name: string;
  readonly ssn: string;
  readonly birth_date: string;
  readonly blind: boolean;
  readonly occupation: string;
}

export interface Dependent {
  readonly first_name: string;
  readonly last_name: string;
  readonly ssn: string;
  readonly ssn_valid_for_employment: boolean;
  readonly relationship: string;
  readonly birth_date: string;
  readonly months_in_home: number;
}

export interface Facts {
  readonly taxpayer: Person;
  readonly spouse: Person | null;
  readonly files_joint_return: boolean;
  readonly paid_over_half_the_cost_of_the_home: boolean;
  readonly home: { readonly address: string; readonly city: string; readonly state: string; readonly zip: string };
  readonly dependents: readonly Dependent[];
  readonly digital_asset_transactions: boolean;
  readonly presidential_election_campaign: readonly string[];
  readonly estimated_tax_payments: string;
  readonly apply_to_next_year_estimated_tax: string;
  readonly direct_deposit: {
    readonly routing_number: string;
    readonly type: string;
    readonly account_number: string;
  } | null;
  readonly educator?: { readonly hours_in_school_year: number; readonly unreimbursed_classroom_expenses: string };
  readonly student_loan_interest_form_1098_e?: string;
  readonly jury_duty?: { readonly pay: string; readonly paid_over_to_employer: string };
  readonly other_income?: readonly { readonly payer: string; readonly kind: string }[];
  readonly schedule_a?: {
    readonly real_estate_taxes_on_home: string;
    readonly mortgage_interest_form_1098_box_1: string;
    readonly cash_gifts_to_charity: string;
    readonly medical_and_dental_expenses: string;
  };
}

/** One information return: box name to what stands in it. */
export type InformationReturn = Readonly<Record<string, unknown>> & { readonly form: string };

export interface Folder {
  readonly facts: Facts;
  readonly forms: readonly InformationReturn[];
}

/** Cents of an amount as the forms write it; a blank box is 0. */
export function toCents(amount: unknown): number {
  if (amount === undefined || amount === '') return 0;
  if (typeof amount !== 'string' || !/^\d+(\.\d\d)?$/.test(amount)) {
    throw new Error(`${JSON.stringify(amount)} is no amount; allowed are texts such as "1234.50"`);
  }
  const [dollars, cents = '0'] = amount.split('.');
  return Number(dollars) * 100 + Number(cents);
}

/** Whole dollars; 50 cents round up. */
export const toDollars = (cents: number): number => Math.floor((cents + 50) / 100);

/** The sum of the named boxes over all returns of one form, in cents. */
export function sumBoxes(forms: readonly InformationReturn[], form: string, boxes: readonly string[]): number {
  return forms
    .filter((candidate) => candidate.form === form)
    .reduce((sum, found) => sum + boxes.reduce((part, box) => part + toCents(found[box]), 0), 0);
}

/** Full years at the end of 2024. */
export function ageAtYearEnd(birthDate: string): number {
  return 2024 - Number(birthDate.slice(0, 4));
}

export const livedInHome = (dependent: Dependent): boolean => dependent.months_in_home > 6;

/** Filing status from the facts: joint, or head of household with a child at home, or single (rules.md, 1). */
export function findFilingStatus(facts: Facts): FilingStatus {
  if (facts.files_joint_return) return 'married_filing_jointly';
  if (facts.spouse !== null) throw new Error('a married person who files alone is not covered');
  const keepsHome = facts.paid_over_half_the_cost_of_the_home && facts.dependents.some(livedInHome);
  return keepsHome ? 'head_of_household' : 'single';
}
