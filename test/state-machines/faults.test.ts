import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { billedUsd } from '#core/attempt-cost';
import { ledgerOf } from '#core/denominators';
import { gradeOfRow } from '#usecases/steps/verdicts';
import type { UnitRow } from '#core/rows';
import { SweepWorld } from './sweep-world.ts';
import type { FaultRates } from '#test/fakes/faults';

const UNITS = 30;
const MAX_ATTEMPTS = 3;

const NONE: FaultRates = {
  eventLost: 0,
  eventTwice: 0,
  eventLate: 0,
  storeConflict: 0,
  storeDown: 0,
  noCapacity: 0,
  machineLost: 0,
  machineStays: 0,
  guestSilent: 0,
  functionFails: 0,
  functionDies: 0,
  graderUnavailable: 0,
};

/** What must be true of a sweep, whatever went wrong that was not the agent's or the task's doing. */
async function expectSound(world: SweepWorld): Promise<void> {
  const units = await world.units('first');
  expect(units.length).toBe(UNITS);
  const ledger = ledgerOf(
    units.map(({ unitId }) => unitId),
    units,
  );
  expect(Object.values(ledger.counts).reduce((sum, count) => sum + count, 0)).toBe(UNITS);
  expect(ledger.counts.scored + ledger.counts.lost).toBe(UNITS);
  for (const unit of units) {
    const attempts = await world.attempts(unit.unitId);
    expect(attempts.length).toBeLessThanOrEqual(MAX_ATTEMPTS);
    expect(unit.attempts).toBe(attempts.length);
    const graded = attempts.filter((attempt) => gradeOfRow(attempt)?.kind === 'graded');
    expect(graded.map(({ attemptId }) => attemptId)).toEqual(unit.class === 'scored' ? [unit.winningAttemptId] : []);
    for (const { attemptId, closedAt, verdict } of attempts) {
      expect([attemptId, closedAt === null]).toEqual([attemptId, false]);
      expect([attemptId, verdict?.['ledgerClass']]).toEqual([attemptId, expect.stringMatching(/^(?:scored|lost)$/u)]);
    }
  }
  await expectCounted(world, units);
  expect(await world.leftovers()).toEqual([]);
  expect(world.host.interpreter.runningExecutions).toBe(0);
  expect(world.host.interpreter.waitingTokens).toBe(0);
}

/** The cost of every attempt is counted once, and the sweep is charged no more and no less. */
async function expectCounted(world: SweepWorld, units: readonly UnitRow[]): Promise<void> {
  const attempts = (await Promise.all(units.map(async ({ unitId }) => await world.attempts(unitId)))).flat();
  const usage = await world.usage();
  const idsOf = (rows: readonly { readonly attemptId: string }[]): readonly string[] =>
    rows.map(({ attemptId }) => attemptId).toSorted();
  expect(idsOf(usage)).toEqual(idsOf(attempts));
  const spentUsd = usage.reduce((sum, { cost }) => sum + billedUsd(cost, null), 0);
  expect(spentUsd).toBeGreaterThan(0);
  expect((await world.sweep('first')).spentUsd).toBeCloseTo(spentUsd, 9);
}

async function sweep(
  seed: number,
  rates: FaultRates,
  gradingMode: 'light' | 'same-sandbox' = 'light',
): Promise<SweepWorld> {
  const world = await SweepWorld.create(seed, rates);
  await world.runUnits(UNITS, { gradingMode, maxAttempts: MAX_ATTEMPTS });
  return world;
}

describe('a sweep', () => {
  it.each(['light', 'same-sandbox'] as const)(
    'without faults scores every unit at its first attempt (%s)',
    async (mode) => {
      const world = await sweep(1, NONE, mode);
      await expectSound(world);
      const units = await world.units('first');
      expect(units.map((unit) => [unit.class, unit.score, unit.attempts])).toEqual(units.map(() => ['scored', 1, 1]));
      const said = world.log.lines.filter(({ level, event }) => level !== 'info' && event !== 'job.lost-event');
      expect(said).toEqual([]);
    },
  );

  it('told no token and no signed URL to its log', async () => {
    const world = await sweep(1, NONE);
    const text = JSON.stringify(world.log.lines);
    expect(world.log.lines.length).toBeGreaterThan(UNITS * 10);
    expect(/signature=|x-amz-|[0-9a-z]{26}\.[0-9a-z-]+\.[0-9a-f]{8}/iu.exec(text)?.[0]).toBeUndefined();
  });
});

const percent = (most: number) => fc.nat(most);
const schedules = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
  gradingMode: fc.constantFrom('light', 'same-sandbox'),
  rates: fc.record({
    eventLost: percent(40),
    eventTwice: percent(40),
    eventLate: percent(40),
    storeConflict: percent(10),
    storeDown: percent(2),
    noCapacity: percent(50),
    machineLost: percent(4),
    machineStays: percent(40),
    guestSilent: percent(10),
    functionFails: percent(15),
    functionDies: percent(2),
    graderUnavailable: percent(30),
  }),
});

/** Two hundred schedules where every tier is asked for; a quarter of them on the way. A failure prints its seed and rates. */
const RUNS_PER_PART = process.env['EXAMHALL_REQUIRE'] === undefined ? 12 : 50;

describe('a sweep under faults', () => {
  it.each([1, 2, 3, 4])(
    'ends with every unit in one class, nobody blamed for us and nothing left (part %i)',
    async (part) => {
      await fc.assert(
        fc.asyncProperty(schedules, async ({ seed, rates, gradingMode }) => {
          await expectSound(await sweep(seed, rates, gradingMode));
        }),
        { numRuns: RUNS_PER_PART, seed: part, endOnFailure: true },
      );
    },
    600_000,
  );
});
