import { escapeHtml, relativeHref } from './report-html-text.ts';
import { agentLabel, type ReportData, type UnitScreen, type UnitSummary } from './report.ts';
import { RUN_FILES } from './run-tree.ts';

/** For each unit with a screen a few small pictures, each a link to the whole one. */
export function filmStrips(data: ReportData): string {
  const strips = data.units.flatMap((unit) => (unit.screen === null ? [] : [strip(unit, unit.screen)]));
  if (strips.length === 0) return '';
  return `<p>Small copies, which are part of this page; each leads to the picture in the unit's folder. Pictures of steps and GUI events are
what the agent's side reports; the one after the agent had ended was asked for by Exam Hall, of a server within the agent's reach.</p>
${strips.join('\n')}`;
}

function strip(unit: UnitSummary, screen: UnitScreen): string {
  const folder = unit.runDir === null ? null : relativeHref(unit.runDir);
  const frames = screen.frames.map((frame) => {
    const { width, height, pngBase64 } = frame.thumbnail ?? { width: 0, height: 0, pngBase64: '' };
    const alt = escapeHtml(`${frame.label}, ${unit.unitId}`);
    const path = relativeHref(frame.path);
    const picture = /^[A-Za-z0-9+/]+=*$/u.test(pngBase64)
      ? `<img src="data:image/png;base64,${pngBase64}" width="${String(width)}" height="${String(height)}" alt="${alt}" loading="lazy" />`
      : `<span class="none">no small copy</span>`;
    const linked = folder === null || path === null ? picture : `<a href="${folder}/${path.slice(2)}">${picture}</a>`;
    return `<li>${linked}<small>${escapeHtml(frame.label)}</small></li>`;
  });
  const list = frames.length === 0 ? '<p>No picture.</p>' : `<ol class="film">${frames.join('')}</ol>`;
  return `<article><h3>${escapeHtml(unit.unitId)}</h3>
<p>${escapeHtml(agentLabel(unit))} on ${escapeHtml(unit.taskPath)}: ${escapeHtml(countsText(screen))}</p>
${list}</article>`;
}

function countsText({ screenshots, hasFinal, guiEvents }: UnitScreen): string {
  const parts = [
    `${String(screenshots)} ${screenshots === 1 ? 'screenshot' : 'screenshots'} of steps`,
    hasFinal ? 'one after the agent had ended' : 'none after the agent had ended',
    guiEvents === null ? `no ${RUN_FILES.guiEvents}` : `${String(guiEvents)} GUI events`,
  ];
  return parts.join(', ');
}
