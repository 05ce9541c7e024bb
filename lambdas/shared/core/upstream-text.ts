import type { Experiment } from './experiment.ts';
import type { PlannedUnit } from './matrix.ts';

type DryRunExperiment = Pick<Experiment, 'name' | 'environment' | 'outputRootText' | 'concurrency'>;

/** One line of the result table. */
export interface ResultRow {
  readonly agentId: string;
  readonly taskPath: string;
  readonly variant: number;
  /** 1-based; shown only when some row has a later trial. */
  readonly trial: number;
  readonly status: string;
  readonly score: number | null;
  readonly durationSeconds: number | null;
}

/** What upstream prints for `--dry-run`, character for character; later trials add a last column. No final newline. */
export function dryRunBlock(experiment: DryRunExperiment, units: readonly PlannedUnit[]): string {
  const hasTrials = units.some(({ trial }) => trial > 1);
  return [
    `experiment: ${experiment.name}`,
    `environment: ${describeEnvironment(experiment.environment)}`,
    `output:     ${joinPath(experiment.outputRootText, experiment.name)}`,
    `concurrency: ${experiment.concurrency}`,
    `units (${units.length}):`,
    ...units.map(
      ({ agent, taskPath, variant, trial }) =>
        `  ${padEnd(agent.id, 20)}  ${padEnd(taskPath, 40)}  v${variant}${hasTrials ? `  ${trialLabel(trial)}` : ''}`,
    ),
  ].join('\n');
}

/** What upstream prints after a run, character for character; later trials add a last column. No final newline. */
export function resultTable(rows: readonly ResultRow[]): string {
  if (rows.length === 0) return '(no results)';
  const hasTrials = rows.some(({ trial }) => trial > 1);
  const columns = [padEnd('agent', 20), padEnd('task', 40), 'var', padEnd('status', 10), ' score', '   dur'];
  const header = [...columns, ...(hasTrials ? ['trial'] : [])].join('  ');
  return ['', header, '-'.repeat(100), ...rows.map((row) => resultLine(row, hasTrials))].join('\n');
}

/** Fixed decimals, halves to the even digit, as Python formats. */
export function formatFixed(value: number, digits: number): string {
  const isHalf = Math.abs((value * 2 ** (digits + 1)) % 2) === 1;
  if (!isHalf) return value.toFixed(digits);
  const scale = 10 ** digits;
  return ((2 * Math.round((value * scale) / 2)) / scale).toFixed(digits);
}

function resultLine(row: ResultRow, hasTrials: boolean): string {
  const score = row.score === null ? '  -  ' : formatFixed(row.score, 2);
  const duration = row.durationSeconds === null ? '   -  ' : `${formatFixed(row.durationSeconds, 1)}s`;
  return [
    padEnd(row.agentId, 20),
    padEnd(row.taskPath, 40),
    String(row.variant).padStart(3),
    padEnd(row.status, 10),
    score.padStart(6),
    duration.padStart(6),
    ...(hasTrials ? [trialLabel(row.trial)] : []),
  ].join('  ');
}

function describeEnvironment({ snapshots, single }: Experiment['environment']): string {
  const routes = Object.entries(snapshots);
  const kinds = [
    ...new Set([...routes.map(([, { provider }]) => provider), ...(single === null ? [] : [single.provider])]),
  ];
  const all = kinds.toSorted(compareCodePoints).join('+');
  if (routes.length === 0) return all;
  const mapped = routes
    .toSorted(([a], [b]) => compareCodePoints(a, b))
    .map(([tag, { provider }]) => `${tag}->${provider}`);
  return `${all} (${mapped.join(', ')})`;
}

function trialLabel(trial: number): string {
  return `trial_${String(trial).padStart(3, '0')}`;
}

/** As Python joins POSIX paths: doubled slashes and `.` parts go, `..` stays, exactly two leading slashes stay. */
function joinPath(root: string, name: string): string {
  const lead = /^\/\/(?!\/)/.test(root) ? '//' : root.startsWith('/') ? '/' : '';
  const parts = `${root}/${name}`.split('/').filter((part) => part !== '' && part !== '.');
  return `${lead}${parts.join('/')}`;
}

/** Pads by code points, as Python counts. */
function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - Array.from(text).length));
}

function compareCodePoints(a: string, b: string): number {
  const left = Array.from(a, (character) => character.codePointAt(0) ?? 0);
  const right = Array.from(b, (character) => character.codePointAt(0) ?? 0);
  const differing = left.findIndex((codePoint, index) => codePoint !== right[index]);
  return differing === -1 ? left.length - right.length : (left[differing] ?? 0) - (right[differing] ?? -1);
}
