/** Prepare a federal income tax return for 2024; five taxpayers to whom different rules apply. */
import {
  prepareOutput,
  readAgentText,
  readJson,
  scoreForm,
  type EvaluateContext,
  type Evaluation,
  type FieldKind,
  type FileReader,
  type FormScore,
  type LoadContext,
  type StartContext,
  type TaskVariant,
} from '#sdk';

interface Variant {
  readonly name: string;
  /** Base names of the forms to hand in: `<form>_blank.json` in, `<form>_output.json` out. */
  readonly forms: readonly string[];
  readonly informationReturns: readonly string[];
}

const VARIANTS: readonly Variant[] = [
  { name: 'variant_1', forms: ['form1040'], informationReturns: ['w2_1', 'w2_2'] },
  { name: 'variant_2', forms: ['form1040'], informationReturns: ['w2_1', 'w2_2', '1099_int_1', '1099_int_2'] },
  { name: 'variant_3', forms: ['form1040'], informationReturns: ['w2_1', '1099_int_1'] },
  {
    name: 'variant_4',
    forms: ['form1040'],
    informationReturns: ['w2_1', '1099_r_1', '1099_r_2', '1099_r_3', '1099_r_4', '1099_int_1'],
  },
  {
    name: 'variant_5',
    forms: ['form1040', 'form1040s1'],
    informationReturns: ['w2_1', '1099_int_1', '1099_misc_1', '1099_misc_2'],
  },
];

export function load(context: LoadContext): readonly TaskVariant[] {
  return VARIANTS.map(({ name, forms }) => {
    const paths = context.paths(name);
    const prompt = [
      'Prepare a federal income tax return for tax year 2024.',
      '',
      `The instruction is ${paths.input}/instruction.md. The taxpayer's facts are in ${paths.input}/taxpayer.json, the`,
      `information returns in ${paths.input}/forms, and the blank return in ${paths.input}.`,
      'Write the filled return:',
      ...forms.map((form) => `- ${paths.output}/${form}_output.json, from ${paths.input}/${form}_blank.json`),
    ].join('\n');
    return { name, prompt };
  });
}

export async function start(context: StartContext): Promise<void> {
  const variant = findVariant(context.variant.name);
  await prepareOutput(context.session, context.paths, [
    'instruction.md',
    'taxpayer.json',
    ...variant.forms.map((form) => `${form}_blank.json`),
    ...variant.informationReturns.map((name) => `forms/${name}.json`),
  ]);
}

/** 0 when any form fails its gate; else right over informative fields of all forms together. */
export async function evaluate(context: EvaluateContext): Promise<Evaluation> {
  const forms: Record<string, FormScore> = {};
  for (const form of findVariant(context.variant.name).forms) forms[form] = await gradeForm(context, form);
  const scores = Object.values(forms);
  const right = scores.reduce((sum, score) => sum + score.right, 0);
  const informative = scores.reduce((sum, score) => sum + score.informative, 0);
  const isGated = scores.some((score) => score.gate !== null);
  return { score: isGated ? 0 : right / informative, right, informative, forms };
}

function findVariant(name: string): Variant {
  const variant = VARIANTS.find((candidate) => candidate.name === name);
  if (variant === undefined) throw new Error(`no variant ${name}; there are ${VARIANTS.map((v) => v.name).join(', ')}`);
  return variant;
}

async function gradeForm(context: EvaluateContext, form: string): Promise<FormScore> {
  const references = await readReferences(context.reference, form);
  const text = await readAgentText(context.output, `${form}_output.json`);
  const reading = text === null ? null : readJson(text);
  const score = scoreForm(reading?.ok === true ? reading.value : null, references, kindOf);
  if (reading === null) return { ...score, gate: `${form}_output.json is missing or not readable` };
  return reading.ok ? score : { ...score, gate: reading.reason };
}

/** The reference, and the alternate one where the law allows two treatments. */
async function readReferences(reference: FileReader, form: string): Promise<readonly unknown[]> {
  const alternate = `${form}_alt.json`;
  const names = [`${form}_gt.json`, ...((await reference.exists(alternate)) ? [alternate] : [])];
  return Promise.all(names.map(async (name): Promise<unknown> => JSON.parse(await reference.readText(name))));
}

function kindOf(field: string): FieldKind {
  if (field.startsWith('line_')) return 'money';
  return /ssn|zip|routing_number|account_number/.test(field) ? 'digits' : 'text';
}
