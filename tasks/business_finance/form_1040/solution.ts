/** Prepares the return of the staged folder and writes the filled forms. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isChildForTaxCredit } from './credits.ts';
import { type Facts, type InformationReturn } from './facts.ts';
import { computeReturn, isAged, type Return } from './form-1040.ts';
import { type Lines } from './schedule-1.ts';

type Fields = Record<string, string | readonly string[]>;

interface Form {
  readonly form: string;
  readonly tax_year: number;
  readonly fields: Fields;
}

function folder(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`environment variable ${name} is not set`);
  return value;
}

const readInput = async (name: string): Promise<unknown> =>
  JSON.parse(await readFile(path.join(folder('TASK_INPUT'), name), 'utf8'));

/** Lines that say something, as fields. */
function lineFields(lines: Lines): Fields {
  return Object.fromEntries(
    Object.entries(lines)
      .filter(([, amount]) => amount !== 0)
      .map(([line, amount]) => [`line_${line}`, String(amount)]),
  );
}

function headFields(facts: Facts): Fields {
  const { taxpayer, spouse, home } = facts;
  return {
    first_name_and_initial: taxpayer.first_name_and_initial,
    last_name: taxpayer.last_name,
    ssn: taxpayer.ssn,
    spouse_first_name_and_initial: spouse?.first_name_and_initial ?? '',
    spouse_last_name: spouse?.last_name ?? '',
    spouse_ssn: spouse?.ssn ?? '',
    home_address: home.address,
    city: home.city,
    state: home.state,
    zip: home.zip,
    your_occupation: taxpayer.occupation,
    spouse_occupation: spouse?.occupation ?? '',
  };
}

function boxFields({ status }: Return, facts: Facts): Fields {
  const aged = [
    ...(isAged(facts.taxpayer) ? ['you_born_before_1960_01_02'] : []),
    ...(facts.taxpayer.blind ? ['you_blind'] : []),
    ...(facts.spouse !== null && isAged(facts.spouse) ? ['spouse_born_before_1960_01_02'] : []),
    ...(facts.spouse?.blind === true ? ['spouse_blind'] : []),
  ];
  return {
    filing_status: [status],
    digital_assets: [facts.digital_asset_transactions ? 'yes' : 'no'],
    presidential_election_campaign: facts.presidential_election_campaign,
    age_blindness: aged,
  };
}

function dependentFields(facts: Facts): Fields {
  const entries = facts.dependents.flatMap((dependent, index): [string, string | readonly string[]][] => {
    const prefix = `dependent_${index + 1}`;
    const credit = isChildForTaxCredit(dependent) ? 'child_tax_credit' : 'credit_for_other_dependents';
    return [
      [`${prefix}_name`, `${dependent.first_name} ${dependent.last_name}`],
      [`${prefix}_ssn`, dependent.ssn],
      [`${prefix}_relationship`, dependent.relationship],
      [`${prefix}_credit`, [credit]],
    ];
  });
  return Object.fromEntries(entries);
}

function depositFields(facts: Facts): Fields {
  const deposit = facts.direct_deposit;
  if (deposit === null) return {};
  return {
    routing_number_35b: deposit.routing_number,
    account_type_35c: [deposit.type],
    account_number_35d: deposit.account_number,
  };
}

/** The blank form of the input with `fields` filled in; a field it does not have is an error. */
async function fillForm(blankName: string, fields: Fields): Promise<string> {
  const blank = (await readInput(blankName)) as Form;
  const unknown = Object.keys(fields).filter((name) => !Object.hasOwn(blank.fields, name));
  if (unknown.length > 0) throw new Error(`${blankName} has no field ${unknown.join(', ')}`);
  return `${JSON.stringify({ ...blank, fields: { ...blank.fields, ...fields } }, null, 2)}\n`;
}

const facts = (await readInput('taxpayer.json')) as Facts;
const names = (await readdir(path.join(folder('TASK_INPUT'), 'forms'))).sort();
const forms = await Promise.all(names.map(async (name) => (await readInput(`forms/${name}`)) as InformationReturn));
const result = computeReturn({ facts, forms });
await mkdir(folder('TASK_OUTPUT'), { recursive: true });
const form1040 = await fillForm('form1040_blank.json', {
  ...headFields(facts),
  ...boxFields(result, facts),
  ...dependentFields(facts),
  ...depositFields(facts),
  ...lineFields(result.lines),
});
await writeFile(path.join(folder('TASK_OUTPUT'), 'form1040_output.json'), form1040);

const { taxpayer } = facts;
const schedule1 = lineFields(result.schedule1);
if (Object.keys(schedule1).length > 0) {
  const name = `${taxpayer.first_name_and_initial} ${taxpayer.last_name}`;
  const filled = await fillForm('form1040s1_blank.json', { name, ssn: taxpayer.ssn, ...schedule1 });
  await writeFile(path.join(folder('TASK_OUTPUT'), 'form1040s1_output.json'), filled);
}
