import { LEDGER_CLASSES, type LostTreatment, type SweepResult } from './denominators.ts';
import { classWord, durationText, escapeHtml, percentText, relativeHref, scoreText } from './report-html-text.ts';
import { agentLabel, type ReportCell, type ReportData, type UnitSummary } from './report.ts';
import { RUN_FILES } from './run-tree.ts';

const TREATMENT_WORDS: Readonly<Record<LostTreatment, string>> = {
  zero: 'lost units count 0',
  excluded: 'lost units left out',
  one: 'lost units count 1',
};

interface Cell {
  readonly text: string;
  readonly numeric?: boolean;
  /** Already escaped. */
  readonly html?: boolean;
  readonly rowHeader?: boolean;
}

const words = (text: string): Cell => ({ text });
const number = (text: string): Cell => ({ text, numeric: true });
const rowHead = (text: string): Cell => ({ text, rowHeader: true });

function table(caption: string, heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [...tableParts(caption, heads, rows, 'plain')].join('');
}

function* tableParts(
  caption: string,
  heads: readonly string[],
  rows: Iterable<readonly Cell[]>,
  name: 'plain' | 'units',
): Generator<string> {
  const head = heads.map((each) => `<th scope="col">${escapeHtml(each)}</th>`).join('');
  yield `<div class="scroll" tabindex="0" role="region" aria-label="${escapeHtml(caption)}"><table class="${name}"><caption>${escapeHtml(caption)}</caption>
<thead><tr>${head}</tr></thead>
<tbody>`;
  for (const row of rows) yield `<tr>${row.map(cellHtml).join('')}</tr>\n`;
  yield '</tbody></table></div>';
}

function cellHtml({ text, numeric, html, rowHeader }: Cell): string {
  const inner = html === true ? text : escapeHtml(text);
  if (rowHeader === true) return `<th scope="row">${inner}</th>`;
  return numeric === true ? `<td class="n">${inner}</td>` : `<td>${inner}</td>`;
}

function passRateText({ passRate, passInterval }: SweepResult): string {
  if (passRate === null || passInterval === null) return '–';
  const { low, high } = passInterval;
  return `${percentText(passRate)} [${(low * 100).toFixed(1)}, ${(high * 100).toFixed(1)}]`;
}

const RESULT_HEADS = ['Units counted', 'Passes', 'Pass rate', 'Mean score'];

function resultCells(result: SweepResult): readonly Cell[] {
  return [
    number(String(result.denominator)),
    number(String(result.passes)),
    number(passRateText(result)),
    number(scoreText(result.meanScore)),
  ];
}

/** The result of the whole sweep under each treatment of lost units. */
export function overallTable(data: ReportData): string {
  const rows = data.overall.map((result) => [rowHead(TREATMENT_WORDS[result.treatment]), ...resultCells(result)]);
  return table(
    'All agents together; the truth lies between the first and the last row',
    ['Lost units', ...RESULT_HEADS],
    rows,
  );
}

/** The same by agent, with the counts of every class. */
export function agentTable(data: ReportData): string {
  const results = data.agents.flatMap(({ agent, results: each }) =>
    each.map((result) => [rowHead(agent), words(TREATMENT_WORDS[result.treatment]), ...resultCells(result)]),
  );
  const counts = data.agents.map(({ agent, ledger }) => [
    rowHead(agent),
    ...LEDGER_CLASSES.map((each) => number(String(ledger.counts[each]))),
    number(String(ledger.planned)),
  ]);
  return `${table('Pass rate and mean score', ['Agent', 'Lost units', ...RESULT_HEADS], results)}
${table('Units by class', ['Agent', ...LEDGER_CLASSES.map(classWord), 'planned'], counts)}`;
}

/** Tasks down, agents across; each agent has a column for the mean score, one for the pass rate and one for the counts. */
export function matrixTable(data: ReportData): string {
  const heads = data.agents.map(({ agent }) => `<th scope="colgroup" colspan="3">${escapeHtml(agent)}</th>`);
  const subheads = data.agents.map(
    () => '<th scope="col">Mean score</th><th scope="col">Pass rate</th><th scope="col">Units</th>',
  );
  const rows = data.tasks.map(
    ({ taskPath, cells }) => `<tr><th scope="row">${escapeHtml(taskPath)}</th>${cells.map(matrixCell).join('')}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="region" aria-label="Results by task and agent"><table class="matrix"><caption>Lost units left out; below each count, where they are</caption>
<thead><tr><th scope="col" rowspan="2">Task</th>${heads.join('')}</tr><tr>${subheads.join('')}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>`;
}

function matrixCell(cell: ReportCell | null): string {
  if (cell === null) return '<td class="n">–</td><td class="n">–</td><td class="n">0</td>';
  const { counts, planned, result } = cell;
  const where = LEDGER_CLASSES.filter((each) => counts[each] > 0).map(
    (each) => `${String(counts[each])} ${classWord(each)}`,
  );
  const shade = result.meanScore === null ? '' : ` s${String(Math.round(result.meanScore * 4))}`;
  return `<td class="n${shade}">${scoreText(result.meanScore)}</td><td class="n">${percentText(result.passRate)}</td><td class="n">${String(planned)}<br /><small>${where.join(', ')}</small></td>`;
}

const UNIT_HEADS = [
  'Unit',
  'Agent',
  'Task',
  'Variant',
  'Trial',
  'Class',
  'Status',
  'Score',
  'Agent phase',
  'Attempts',
  'Isolation',
  'Cost (USD)',
  'Note',
  'Record',
];

/** One line for each planned unit, in parts. */
export function unitTable(data: ReportData): Generator<string> {
  return tableParts('One row for each planned unit', UNIT_HEADS, unitRows(data), 'units');
}

function* unitRows(data: ReportData): Generator<readonly Cell[]> {
  const costText = data.costUsd === null ? () => '–' : costCell;
  for (const unit of data.units) yield unitCells(unit, costText(unit));
  for (const id of data.unseenUnitIds) {
    yield [rowHead(id), ...UNIT_HEADS.slice(1).map((head) => words(head === 'Class' ? 'open' : '–'))];
  }
}

function costCell({ costUsd }: UnitSummary): string {
  return costUsd === null ? 'unknown' : costUsd.toFixed(4);
}

function unitCells(unit: UnitSummary, cost: string): readonly Cell[] {
  const notRun = unit.notRunReason === null ? '' : ` (${unit.notRunReason})`;
  const ended = unit.outcome === null || unit.outcome === unit.status ? '' : ` (agent: ${unit.outcome})`;
  const isolation = [unit.isolation, unit.network === null ? null : `network ${unit.network}`].filter(
    (each) => each !== null,
  );
  const note = [unit.signatureId, unit.note].filter((each) => each !== null);
  return [
    rowHead(unit.unitId),
    words(agentLabel(unit)),
    words(unit.taskPath),
    number(String(unit.variant)),
    number(String(unit.trial)),
    words(`${classWord(unit.class)}${notRun}`),
    words(`${unit.status}${ended}`),
    number(scoreText(unit.score)),
    number(durationText(unit.durationSeconds)),
    number(String(unit.attempts)),
    words(isolation.length === 0 ? '–' : isolation.join(', ')),
    number(cost),
    words(note.length === 0 ? '–' : note.join(': ')),
    { text: recordLinks(unit.runDir), html: true },
  ];
}

function recordLinks(runDir: string | null): string {
  const folder = runDir === null ? null : relativeHref(runDir);
  if (folder === null) return '–';
  return `<a href="${folder}/${RUN_FILES.record}">record</a> <a href="${folder}/">files</a>`;
}
