/** Clean the reads of four assay plates and judge the plates; a table and a summary, each with partial credit. */
import {
  compareLeaves,
  compareTables,
  isJsonObject,
  prepareOutput,
  readAgentText,
  readJson,
  readTable,
  type EvaluateContext,
  type Evaluation,
  type LoadContext,
  type StartContext,
  type TableRules,
  type TaskVariant,
} from '#sdk';

/** Share of the score that each output file carries. */
const WEIGHTS = { doses: 0.6, summary: 0.4 };
/** One unit of the last decimal the instruction asks for: rounding half up or half to even are both right. */
const AU_TOLERANCE = 0.0001;
const PERCENT_TOLERANCE = 0.01;

const RULES: TableRules = {
  key: ['plate', 'sample_id', 'dose_nm'],
  values: {
    n_valid: { kind: 'number', tolerance: 0 },
    mean_corrected_au: { kind: 'number', tolerance: AU_TOLERANCE },
    cv_percent: { kind: 'number', tolerance: PERCENT_TOLERANCE },
    inhibition_percent: { kind: 'number', tolerance: PERCENT_TOLERANCE },
  },
};

export function load(context: LoadContext): readonly TaskVariant[] {
  const name = 'base';
  const paths = context.paths(name);
  const prompt = [
    'Clean the raw reads of four 96-well assay plates and compute the quality control figures.',
    '',
    `The instruction is ${paths.input}/instruction.md; the data are ${paths.input}/reads.csv and ${paths.input}/layout.csv.`,
    `Write ${paths.output}/doses.csv and ${paths.output}/summary.json exactly as the instruction defines them.`,
  ].join('\n');
  return [{ name, prompt }];
}

export async function start(context: StartContext): Promise<void> {
  await prepareOutput(context.session, context.paths, ['instruction.md', 'reads.csv', 'layout.csv']);
}

export async function evaluate(context: EvaluateContext): Promise<Evaluation> {
  const doses = await gradeDoses(context);
  const summary = await gradeSummary(context);
  return { score: WEIGHTS.doses * doses.score + WEIGHTS.summary * summary.score, doses, summary };
}

async function gradeDoses(context: EvaluateContext) {
  const expected = readTable(await context.reference.readText('doses.csv'));
  if (!expected.ok) throw new Error(`reference/doses.csv: ${expected.reason}`);
  const text = await readAgentText(context.output, 'doses.csv');
  if (text === null) return { score: 0, reason: 'doses.csv is missing or not readable' };
  const actual = readTable(text);
  if (!actual.ok) return { score: 0, reason: actual.reason };
  return compareTables(actual.table, expected.table, RULES);
}

async function gradeSummary(context: EvaluateContext) {
  const expected = readJson(await context.reference.readText('summary.json'));
  if (!expected.ok) throw new Error(`reference/summary.json: ${expected.reason}`);
  const text = await readAgentText(context.output, 'summary.json');
  if (text === null) return { score: 0, reason: 'summary.json is missing or not readable' };
  const actual = readJson(text);
  if (!actual.ok) return { score: 0, reason: actual.reason };
  if (!isJsonObject(actual.value)) return { score: 0, reason: 'summary.json is not an object' };
  return compareLeaves(actual.value, expected.value, AU_TOLERANCE);
}
