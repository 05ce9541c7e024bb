import { countsOfStages, WHOLE_ATTEMPT } from '#core/control-plane-cost';
import { rowKeys, rowPrefixes } from '#core/keys';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow } from '#core/rows';
import { FUNCTIONS } from '#contracts/functions';
import { CloudWorld } from '#test/state-machines/cloud-world';

/** What units on machines of EC2 cost besides the agent's own time, on the stand-in's clock. */
export interface MachineTimeFigures {
  readonly units: number;
  readonly scored: number;
  /** Seconds of a machine, on average. `online`: until Systems Manager could reach it at all. */
  readonly onlineSeconds: number;
  readonly beforeAgentSeconds: number;
  readonly agentSeconds: number;
  readonly afterAgentSeconds: number;
  /** Requests for each unit, by service and operation. */
  readonly calls: Readonly<Record<string, number>>;
  readonly transitions: number;
  readonly invocations: number;
}

const HOUR_MS = 3_600_000;

/** Runs that many units at once, each on a machine of its own, with an agent that is done at once. */
export async function machineTimeFigures(units: number): Promise<MachineTimeFigures> {
  const counted = { transitions: 0, invocations: 0 };
  const world = await CloudWorld.open({
    invocation: async (_name, call) => {
      counted.invocations += 1;
      return await call();
    },
    onHistory: ({ type }) => {
      if (type.endsWith('StateEntered')) counted.transitions += 1;
    },
  });
  try {
    const request = await world.request('quick', { trials: units, limits: { concurrency: units } });
    await world.host.startSweep(request.sweepId, request.run).done;
    // What is looked at at set times goes on for as long as a deployment stands: it is no unit's.
    const during = { ...counted, calls: world.cloud.calls.map(({ operation }) => operation) };
    await world.clock.elapse(HOUR_MS);
    const attempts = await attemptsOf(world);
    const spans = attempts.map((attempt) => spansOf(world, attempt));
    const each = (pick: (span: Spans) => number): number =>
      spans.reduce((sum, span) => sum + pick(span), 0) / spans.length;
    return {
      units,
      scored: attempts.filter(({ grade }) => grade?.['kind'] === 'graded').length,
      onlineSeconds: each(({ online }) => online),
      beforeAgentSeconds: each(({ before }) => before),
      agentSeconds: each(({ agent }) => agent),
      afterAgentSeconds: each(({ after }) => after),
      calls: perUnit(during.calls, units),
      transitions: during.transitions / units,
      invocations: during.invocations / units,
    };
  } finally {
    await world.close();
  }
}

async function attemptsOf(world: CloudWorld): Promise<readonly AttemptRow[]> {
  const { rows } = await world.store.query({ pk: rowKeys.sweep('first').pk, skPrefix: rowPrefixes.unit, limit: 1000 });
  const units = rows.map(({ body }) => UnitRowSchema.parse(body));
  const found = await Promise.all(
    units.map(async ({ unitId }) => await world.store.query({ pk: rowKeys.attempt(`${unitId}.1`).pk, limit: 10 })),
  );
  return found.flatMap((each) => each.rows.map(({ body }) => AttemptRowSchema.parse(body)));
}

interface Spans {
  readonly online: number;
  readonly before: number;
  readonly agent: number;
  readonly after: number;
}

/** A machine is paid for from its launch until it is told to end. */
function spansOf(world: CloudWorld, { attemptId, agentStartedAt, agentResult }: AttemptRow): Spans {
  const machine = [...world.cloud.machines.all.values()].find(({ tags }) => tags.get('examhall:attempt') === attemptId);
  const started = Date.parse(agentStartedAt ?? '');
  // A guest has a clock of its own: how long its job took counts, not when it says that it ended.
  const ended = started + Number(agentResult?.['durationSeconds'] ?? Number.NaN) * 1000;
  const endingAt = machine?.endingAt ?? null;
  if (machine === undefined || endingAt === null || Number.isNaN(started) || Number.isNaN(ended))
    throw new Error(`${attemptId} has no machine that ran an agent and was ended`);
  const seconds = (from: number, to: number): number => (to - from) / 1000;
  return {
    online: seconds(machine.launchedAt, machine.onlineAt),
    before: seconds(machine.launchedAt, started),
    agent: seconds(started, ended),
    after: seconds(ended, endingAt),
  };
}

function perUnit(operations: readonly string[], units: number): Record<string, number> {
  const counts = new Map<string, number>();
  for (const operation of operations) counts.set(operation, (counts.get(operation) ?? 0) + 1);
  return Object.fromEntries([...counts].sort().map(([operation, count]) => [operation, count / units]));
}

/** Lines for people: seconds, and each figure beside the least it could be. */
export function tellMachineTime(seen: MachineTimeFigures): readonly string[] {
  const least = countsOfStages(WHOLE_ATTEMPT, FUNCTIONS);
  const row = (name: string, value: number, unit: string, beside = ''): string =>
    `${name.padEnd(26)}${value.toFixed(1).padStart(9)} ${unit.padEnd(12)}${beside}`;
  const ratio = (value: number, of: number, what: string): string => `x${(value / of).toFixed(2)} of ${what}`;
  const { beforeAgentSeconds: before, afterAgentSeconds: after, onlineSeconds: online } = seen;
  const calls = Object.values(seen.calls).reduce((sum, count) => sum + count, 0);
  return [
    `${String(seen.units)} units on the stand-in for EC2, a machine each, seconds of its clock; ${String(seen.scored)} scored`,
    row(
      'paid before the agent',
      before,
      's/unit',
      ratio(before, online, `the ${online.toFixed(0)} s until a machine is online`),
    ),
    row('paid after the agent', after, 's/unit', ratio(after, online, 'the same')),
    row(
      'state transitions',
      seen.transitions,
      '/unit',
      ratio(seen.transitions, least.transitions, 'a unit without faults'),
    ),
    row(
      'function calls',
      seen.invocations,
      '/unit',
      ratio(seen.invocations, least.invocations, 'a unit without faults'),
    ),
    row('control calls', calls, '/unit'),
    ...Object.entries(seen.calls).map(([operation, count]) => row(`  ${operation}`, count, '/unit')),
  ];
}
