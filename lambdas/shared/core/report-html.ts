import { LEDGER_CLASSES, NOT_RUN_REASONS } from './denominators.ts';
import { stageBars } from './report-html-bars.ts';
import { filmStrips } from './report-html-film.ts';
import { REPORT_STYLE } from './report-html-style.ts';
import { agentTable, matrixTable, overallTable, unitTable } from './report-html-tables.ts';
import { classWord, escapeHtml } from './report-html-text.ts';
import { ledgerSum, type ReportData } from './report.ts';

/**
 * The report as one page, in parts to be put one after another: no script, no outside reference, readable offline, links to
 * records relative to where it lies. Well formed as XML too. Every value is escaped.
 */
export function* renderReport(data: ReportData): Generator<string> {
  yield head(data);
  yield warnings(data);
  yield section('results', 'Results', overallTable(data));
  yield section('agents', 'By agent', agentTable(data));
  yield section('matrix', 'By task and agent', matrixTable(data));
  yield section('ledger', 'Where the planned units are', ledger(data));
  yield section('durations', 'Durations by stage', stageBars(data.stages));
  const [open, close] = sectionFrame('units', 'Units');
  yield open;
  yield* unitTable(data);
  yield close;
  yield screens(data);
  yield notPlanned(data);
  yield `</main>\n${footer(data)}\n</body>\n</html>\n`;
}

function head(data: ReportData): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:" />
<title>${escapeHtml(data.title)}</title>
<style>${REPORT_STYLE}</style>
</head>
<body>
${header(data)}
<main>
`;
}

function section(id: string, heading: string, body: string): string {
  return sectionFrame(id, heading).join(body);
}

/** What stands before and behind the body of a section. */
function sectionFrame(id: string, heading: string): readonly [string, string] {
  return [`<section aria-labelledby="${id}-heading"><h2 id="${id}-heading">${heading}</h2>\n`, '\n</section>\n'];
}

function header(data: ReportData): string {
  return `<header><h1>${escapeHtml(data.title)}</h1>
<p>Sweep <code>${escapeHtml(data.sweepId)}</code>, written ${escapeHtml(data.generatedAt)}</p>
<p id="ledger-sum">${escapeHtml(ledgerSum(data.ledger))}</p></header>`;
}

function warnings(data: ReportData): string {
  if (data.warnings.length === 0) return '';
  return section('warnings', 'Warnings', list(data.warnings));
}

function list(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join('')}</ul>`;
}

const CLASS_MEANING = {
  scored: 'has a grade',
  forfeited: 'the agent itself made a grade impossible; counts 0',
  lost: 'ungraded by a fault of the platform; counted in three ways',
  task_fault: 'ungraded by a fault of the task; in no denominator',
  not_run: 'never started; in no denominator',
  open: 'not finished yet; in no denominator',
} as const;

function ledger({ ledger: { counts, notRun, planned } }: ReportData): string {
  const rows = LEDGER_CLASSES.map(
    (each) =>
      `<tr><th scope="row">${classWord(each)}</th><td class="n">${String(counts[each])}</td><td>${CLASS_MEANING[each]}</td></tr>`,
  );
  const reasons = NOT_RUN_REASONS.filter((each) => notRun[each] > 0).map((each) => `${String(notRun[each])} ${each}`);
  const because = reasons.length === 0 ? '' : `<p>Not run: ${reasons.join(', ')}.</p>`;
  return `<div class="scroll" tabindex="0" role="region" aria-label="Ledger of the planned units"><table><caption>Each planned unit is in exactly one class</caption>
<thead><tr><th scope="col">Class</th><th scope="col">Units</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.join('')}</tbody>
<tfoot><tr><th scope="row">planned</th><td class="n">${String(planned)}</td><td>the sum</td></tr></tfoot></table></div>${because}`;
}

function screens(data: ReportData): string {
  const strips = filmStrips(data);
  return strips === '' ? '' : section('screens', 'Screens', strips);
}

function notPlanned(data: ReportData): string {
  if (data.notPlanned.length === 0) return '';
  const items = data.notPlanned.map(({ what, enabledBy }) => `${what}: ${enabledBy}`);
  return section('not-planned', 'Not planned', list(items));
}

function costText({ costUsd }: ReportData): string {
  if (costUsd === null) return 'not in this report; whoever may see costs asks GET /costs for them';
  const { known, unknownUnits } = costUsd;
  const missing = unknownUnits === 0 ? '' : `, without ${String(unknownUnits)} units whose cost is not known`;
  return `${known.toFixed(4)} USD${missing}`;
}

function footer(data: ReportData): string {
  const entries = [
    { label: 'Pass threshold', value: `a score of at least ${String(data.passThreshold)}` },
    { label: 'Interval', value: '95 % Wilson score interval' },
    { label: 'Cost', value: costText(data) },
    ...data.provenance,
  ];
  const terms = entries.map(({ label, value }) => `<dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd>`);
  return `<footer><h2>Provenance</h2><dl>${terms.join('')}</dl></footer>`;
}
