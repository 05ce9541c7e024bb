import { rowKeys, rowPrefixes } from '#core/keys';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow, type UnitRow } from '#core/rows';
import { gradeOfRow } from '#usecases/steps/verdicts';
import { CLASS_OF_DEED } from './deeds.ts';
import type { Schedule } from './schedule.ts';
import type { AttemptTruth } from './truth.ts';
import { wronglyEnded } from './world-checks.ts';
import type { ModelWorld } from './world.ts';

const SWEEP = 'first';
/** What a guest that root may speak for can bring about; a fault of ours that looks like it is laid to its agent. */
const DOUBTED: readonly string[] = [
  'AgentLaunchError',
  'ChannelUnavailableError',
  'CollectFailedError',
  'SandboxLostError',
  'Sandbox.Timedout',
  'States.Timeout',
  'StopUnconfirmedError',
];

const SILENT_ERRORS: readonly string[] = ['ChannelUnavailableError', 'StopUnconfirmedError'];
/** Rows for guests that are silent, and believed. */
const SILENCES: readonly string[] = ['trusted-guest-silent', 'trusted-guest-unsure'];

export function unitsOf({ store }: ModelWorld): readonly UnitRow[] {
  const rows = store.rowsIn(rowKeys.sweep(SWEEP).pk).filter(({ sk }) => sk.startsWith(rowPrefixes.unit));
  return rows.map(({ body }) => UnitRowSchema.parse(body));
}

export function attemptsOf({ store }: ModelWorld, unitId: string): readonly AttemptRow[] {
  const rows = store.rowsIn(rowKeys.attempt(`${unitId}.1`).pk).toSorted((one, other) => (one.sk < other.sk ? -1 : 1));
  return rows.map(({ body }) => AttemptRowSchema.parse(body));
}

/** Everything that is wrong with a world after its sweep, in words; empty when nothing is. */
export async function wrongsOf(world: ModelWorld): Promise<readonly string[]> {
  const units = unitsOf(world);
  const counted = units.length === world.schedule.units ? [] : [`${String(units.length)} units were planned`];
  return [
    ...counted,
    ...world.truth.violations,
    ...wronglyEnded(world),
    ...(await world.leftovers()).map((what) => `left: ${what}`),
    ...units.flatMap((unit) => wrongsOfUnit(world, unit)),
  ];
}

function wrongsOfUnit(world: ModelWorld, unit: UnitRow): readonly string[] {
  const { unitId } = unit;
  const attempts = attemptsOf(world, unitId);
  const wrongs: string[] = [];
  if (unit.class === 'open') wrongs.push(`${unitId} has no outcome`);
  if (unit.class === 'not_run') wrongs.push(`${unitId} was never run: ${String(unit.notRunReason)}`);
  const used = attempts.filter(({ verdict }) => verdict?.['countsAsAttempt'] !== false).length;
  if (used > world.schedule.maxAttempts) wrongs.push(`${unitId} had ${String(used)} attempts`);
  const winners = attempts
    .filter((attempt) => gradeOfRow(attempt)?.kind === 'graded')
    .map(({ attemptId }) => attemptId);
  const expected = unit.class === 'scored' ? [unit.winningAttemptId] : [];
  if (JSON.stringify(winners) !== JSON.stringify(expected))
    wrongs.push(`${unitId} is ${unit.class} by ${String(unit.winningAttemptId)}; graded are ${winners.join(', ')}`);
  if (attempts.at(-1)?.verdict?.['ledgerClass'] !== unit.class && attempts.length > 0)
    wrongs.push(`${unitId} is ${unit.class}, its last attempt ${String(attempts.at(-1)?.verdict?.['ledgerClass'])}`);
  return [...wrongs, ...attempts.flatMap((attempt) => wrongsOfAttempt(world, attempt, attempt === attempts.at(-1)))];
}

/** What it left is graded once its machine is back; where every try of a state fell into the reboot, it has ended its own run. */
function isAskedWhileItReboots({ deed }: AttemptTruth, { error }: AttemptRow): boolean {
  return deed === 'reboots' && SILENT_ERRORS.includes(error?.name ?? '');
}

/**
 * A guest that its agent cannot have taken over, and that was silent on a machine that is there: nobody can tell whether its
 * agent starved it, so it is nobody's zero and earns no other attempt.
 */
function isUnknown({ schedule }: ModelWorld, { deed }: AttemptTruth, { verdict }: AttemptRow): boolean {
  const isSilent = deed === 'mutes' || deed === 'reboots';
  return schedule.privilege === 'restricted' && isSilent && SILENCES.includes(String(verdict?.['signatureId']));
}

/** Of the tries of one collect some met the disk that its agent had filled, and the last a guest that was silent through us. */
function isSplit({ deed, causes }: AttemptTruth, { error }: AttemptRow): boolean {
  const isCollect = error?.name === 'CollectFailedError' || error?.name === 'StopUnconfirmedError';
  return deed === 'fillsDisk' && causes.has('guestSilent') && isCollect;
}

function wrongsOfAttempt(world: ModelWorld, row: AttemptRow, isLast: boolean): readonly string[] {
  const { truth, schedule } = world;
  const { attemptId, verdict } = row;
  if (row.closedAt === null || verdict === null) return [`${attemptId} was never closed`];
  const attempt = truth.of(attemptId);
  const isExcused = truth.isExcused(attemptId) || isSplit(attempt, row);
  const found = String(verdict['ledgerClass']);
  const blame = `${found} (blame ${String(verdict['blame'])}, ${String(verdict['signatureId'])}, error ${row.error?.name ?? 'none'})`;
  const wrongs: string[] = [];
  if (!isLast && found !== 'lost') wrongs.push(`${attemptId} was ${blame}, and its unit had another attempt`);
  if (isUnknown(world, attempt, row)) {
    if (!isLast || verdict['retry'] !== false) wrongs.push(`${attemptId} was ${blame}, and earned another attempt`);
    return wrongs;
  }
  if (found === 'lost') return isExcused ? wrongs : [...wrongs, `${attemptId} was ${blame}, and nothing had hit it`];
  const isDoubted = schedule.privilege === 'upstream' && isExcused && DOUBTED.includes(row.error?.name ?? '');
  const isEither = attempt.isLostSilently || isDoubted || isAskedWhileItReboots(attempt, row);
  const due = isEither ? ['scored', 'forfeited'] : [CLASS_OF_DEED[attempt.deed]];
  if (!due.includes(found)) wrongs.push(`${attemptId} was ${blame}; its agent ${attempt.deed}`);
  if (found === 'forfeited' && attempt.agentStartedAt === null)
    wrongs.push(`${attemptId} was ${blame} without an agent`);
  return wrongs;
}

/** What a failure prints: the schedule to run it again with, what is wrong, and what happened to what it is about. */
export function explain(world: ModelWorld, wrongs: readonly string[]): string {
  const { schedule, truth } = world;
  const about = [...truth.attempts.keys()].filter((attemptId) => wrongs.some((wrong) => wrong.includes(attemptId)));
  const units = unitsOf(world).map(({ unitId }) => unitId);
  const named = about.length > 0 ? about : units.filter((unitId) => wrongs.some((wrong) => wrong.includes(unitId)));
  return [
    `schedule ${describe(schedule)}`,
    ...wrongs.map((wrong) => `- ${wrong}`),
    'timeline:',
    truth.timeline(named),
  ].join('\n');
}

function describe({ rates, ...rest }: Schedule): string {
  const set = Object.fromEntries(Object.entries(rates).filter(([, rate]) => rate > 0));
  return JSON.stringify({ ...rest, rates: set });
}
