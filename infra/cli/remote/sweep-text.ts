import type { SweepDetail, SweepSummary, UnitDetail, UnitSummary } from '#contracts/api-schemas';
import { LEDGER_CLASSES, NOT_RUN_REASONS } from '#core/denominators';
import { plainText } from './plain-text.ts';
import { textTable, type Column } from './text-table.ts';

/** `2026-01-02 03:04` in UTC. */
export function shortTime(iso: string | null): string {
  return iso === null ? '-' : iso.slice(0, 16).replace('T', ' ');
}

export function moneyText(usd: number | null): string {
  return usd === null ? '-' : `$${usd.toFixed(2)}`;
}

/** Status of a sweep with what a person did to it. */
export function sweepState({
  status,
  paused,
  cancelled,
}: Pick<SweepSummary, 'status' | 'paused' | 'cancelled'>): string {
  const isOpen = status === 'accepted' || status === 'running';
  const marks = [
    cancelled ? (isOpen ? 'cancelling' : 'cancelled') : '',
    paused && isOpen && !cancelled ? 'paused' : '',
  ];
  const told = marks.filter((mark) => mark !== '').join(', ');
  return told === '' ? status : `${status} (${told})`;
}

export function sweepTable(sweeps: readonly SweepSummary[], width: number | null): string {
  const hasCosts = sweeps.some(({ spentUsd }) => spentUsd !== null);
  const columns: Column<SweepSummary>[] = [
    { title: 'sweep', of: ({ sweepId }) => sweepId },
    { title: 'name', of: ({ name }) => name, shrinks: true },
    { title: 'state', of: sweepState },
    { title: 'units', of: ({ plannedUnits }) => (plannedUnits === null ? '-' : String(plannedUnits)), align: 'right' },
    { title: 'cost center', of: ({ costCenter }) => costCenter, shrinks: true },
    { title: 'owner', of: ({ owner }) => ownerText(owner), shrinks: true },
    { title: 'created (UTC)', of: ({ createdAt }) => shortTime(createdAt) },
  ];
  if (hasCosts) columns.push({ title: 'spent', of: ({ spentUsd }) => moneyText(spentUsd), align: 'right' });
  return sweeps.length === 0 ? 'no sweeps' : textTable(columns, sweeps, width);
}

/** The end of a principal's ARN, which is what tells people apart. */
export function ownerText(owner: string): string {
  const match = /^arn:[^:]*:[^:]*:[^:]*:[^:]*:(.+)$/u.exec(owner);
  return match?.[1] ?? owner;
}

/** One sweep, for a person. No final newline. */
export function sweepText(sweep: SweepDetail): string {
  const lines = [
    `${sweep.sweepId}  ${plainText(sweep.name)}`,
    `  state:       ${sweepState(sweep)}${sweep.error === null ? '' : `: ${plainText(sweep.error)}`}`,
    `  created:     ${sweep.createdAt}${sweep.closedAt === null ? '' : `, closed ${sweep.closedAt}`}, deadline ${sweep.deadlineAt}`,
    `  owner:       ${plainText(sweep.owner)}, cost center ${plainText(sweep.costCenter)}`,
    `  units:       ${countsText(sweep)}`,
    `  running:     ${String(sweep.runningUnits)} of at most ${String(sweep.concurrency)}`,
    `  mean score:  ${sweep.meanScore === null ? 'none yet' : sweep.meanScore.toFixed(4)}`,
  ];
  if (sweep.spentUsd !== null || sweep.budgetUsd !== null) {
    lines.push(
      `  spent:       ${sweep.spentUsd === null ? 'not shown to you' : moneyText(sweep.spentUsd)}${sweep.budgetUsd === null ? '' : ` of ${moneyText(sweep.budgetUsd)}`}`,
    );
  }
  lines.push(
    `  agents:      ${sweep.agents.map(({ id, agentId, model }) => plainText(`${id}${id === agentId ? '' : ` (${agentId})`}${model === null ? '' : ` with ${model}`}`)).join(', ')}`,
  );
  lines.push(`  tasks:       ${plainText(sweep.tasks.map(({ path }) => path).join(', '), 500)}`);
  const without = LEDGER_CLASSES.find((name) => isWithoutGrade(name) && (sweep.ledger?.counts[name] ?? 0) > 0);
  if (without !== undefined)
    lines.push(
      `  why:         \`examhall units ${sweep.sweepId} --class ${without}\` lists units that are ${without}; \`examhall why <unit>\` says why one is`,
    );
  return lines.join('\n');
}

/** `12 planned = 10 scored + 2 lost`, and why units did not run. */
export function countsText({ ledger, plannedUnits }: Pick<SweepDetail, 'ledger' | 'plannedUnits'>): string {
  if (ledger === null) return plannedUnits === null ? 'not planned yet' : `${String(plannedUnits)} planned`;
  const present = LEDGER_CLASSES.filter((name) => ledger.counts[name] > 0).map(
    (name) => `${String(ledger.counts[name])} ${name}`,
  );
  const reasons = NOT_RUN_REASONS.filter((name) => ledger.notRun[name] > 0).map(
    (name) => `${String(ledger.notRun[name])} ${name}`,
  );
  const why = reasons.length === 0 ? '' : ` (not run: ${reasons.join(', ')})`;
  return `${String(ledger.planned)} planned = ${present.length === 0 ? '0' : present.join(' + ')}${why}`;
}

export function unitTable(units: readonly UnitSummary[], width: number | null): string {
  const columns: readonly Column<UnitSummary>[] = [
    { title: 'unit', of: ({ unitId }) => unitId, shrinks: true },
    {
      title: 'class',
      of: ({ class: name, notRunReason }) => (notRunReason === null ? name : `${name} (${notRunReason})`),
    },
    { title: 'status', of: ({ status }) => status },
    { title: 'score', of: ({ score }) => (score === null ? '-' : score.toFixed(4)), align: 'right' },
    { title: 'tries', of: ({ attempts }) => String(attempts), align: 'right' },
    { title: 'closed (UTC)', of: ({ closedAt }) => shortTime(closedAt) },
  ];
  return units.length === 0 ? 'no units' : textTable(columns, units, width);
}

function isWithoutGrade(name: UnitSummary['class']): boolean {
  return name !== 'scored' && name !== 'open';
}

/** Where a person finds why units have no grade; nothing where all have one. */
export function whyHint(units: readonly Pick<UnitSummary, 'unitId' | 'class'>[]): string {
  const without = units.find(({ class: name }) => isWithoutGrade(name));
  return without === undefined ? '' : `\n\`examhall why ${without.unitId}\` says why that unit is ${without.class}`;
}

/** What went wrong with the last attempt, and by whom; nothing where there was none. */
function troubleOf(attempts: UnitDetail['attemptList']): string {
  const last = attempts.at(-1);
  const ungraded = last?.grades.at(-1)?.reason ?? null;
  const reason = last?.error ?? ungraded;
  if (last === undefined || reason === null) return '';
  const blame = last.blame === null ? '' : ` (blame: ${last.blame})`;
  return ` ${last.attemptId}${blame}: ${plainText(reason, 2000)}`;
}

const WAITS: Readonly<Record<NonNullable<UnitDetail['waitsFor']>['what'], string>> = {
  start: 'its sweep to get to it',
  admission: 'a slot',
  sandbox: 'its sandbox',
  job: 'the job that runs in its sandbox',
  grade: 'its grade',
  teardown: 'its sandbox to be gone',
  stage: 'a stage that works on it',
};

/** What an open unit waits for, in a sentence. */
export function waitSentence({
  unitId,
  waitsFor,
  class: ledgerClass,
  status,
  score,
  notRunReason,
  closedAt,
  attemptList,
}: UnitDetail): string {
  if (waitsFor === null) {
    if (ledgerClass === 'open') return `${unitId} is open; the host does not say what it waits for.`;
    const end = `${ledgerClass}${notRunReason === null ? '' : ` (${notRunReason})`}, ${plainText(status)}`;
    const how = `${end}${score === null ? '' : ` with score ${score.toFixed(4)}`}`;
    return `${unitId} waits for nothing: it closed ${closedAt ?? 'at an unknown time'} as ${how}.${isWithoutGrade(ledgerClass) ? troubleOf(attemptList) : ''}`;
  }
  const since = waitsFor.since === null ? '' : `, since ${waitsFor.since}`;
  const until = waitsFor.until === null ? '' : `, at the longest until ${waitsFor.until}`;
  return `${unitId} waits for ${WAITS[waitsFor.what]}${since}${until}: ${plainText(waitsFor.why)}`;
}
