import { durationText, escapeHtml } from './report-html-text.ts';
import type { StageDuration } from './report.ts';

const WIDTH = 640;
const ROW = 26;
const LABEL = 90;
const BAR = 380;

/** Bars of the medians with a line to the longest, drawn as SVG, beside the same numbers as a table. */
export function stageBars(stages: readonly StageDuration[]): string {
  if (stages.length === 0) return '<p>No stage was timed.</p>';
  const scale = BAR / Math.max(...stages.map((stage) => stage.longestSeconds), Number.MIN_VALUE);
  const rows = stages.map((stage, index) => bar(stage, index * ROW, scale));
  const height = String(stages.length * ROW);
  const label = stages.map((stage) => `${stage.stage}: median ${durationText(stage.medianSeconds)}`).join('; ');
  return `<svg class="bars" viewBox="0 0 ${String(WIDTH)} ${height}" role="img" aria-label="${escapeHtml(label)}">${rows.join('')}</svg>
${stageTable(stages)}`;
}

function bar({ stage, medianSeconds, longestSeconds }: StageDuration, top: number, scale: number): string {
  const median = (medianSeconds * scale).toFixed(1);
  const end = (LABEL + longestSeconds * scale).toFixed(1);
  const middle = String(top + ROW / 2);
  const text = String(top + ROW / 2 + 4);
  return `<text x="${String(LABEL - 8)}" y="${text}" class="label">${escapeHtml(stage)}</text>
<line x1="${String(LABEL)}" y1="${middle}" x2="${end}" y2="${middle}" />
<rect x="${String(LABEL)}" y="${String(top + 5)}" width="${median}" height="${String(ROW - 10)}" />
<text x="${(LABEL + longestSeconds * scale + 8).toFixed(1)}" y="${text}">${escapeHtml(durationText(medianSeconds))} / ${escapeHtml(durationText(longestSeconds))}</text>`;
}

function stageTable(stages: readonly StageDuration[]): string {
  const rows = stages.map(
    (stage) =>
      `<tr><th scope="row">${escapeHtml(stage.stage)}</th>${[
        String(stage.units),
        durationText(stage.medianSeconds),
        durationText(stage.longestSeconds),
        durationText(stage.totalSeconds),
      ]
        .map((cell) => `<td class="n">${cell}</td>`)
        .join('')}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="region" aria-label="Durations by stage, as numbers"><table><caption>Bars show the median, lines the longest</caption>
<thead><tr><th scope="col">Stage</th><th scope="col">Units</th><th scope="col">Median</th><th scope="col">Longest</th><th scope="col">Sum</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div>`;
}
