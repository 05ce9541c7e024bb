import { beforeAll, describe, expect, it } from 'vitest';
import {
  countsOfStages,
  FUNCTION_ACTIONS,
  statesOfWholeAttempt,
  WHOLE_ATTEMPT,
  WRITE_UNITS_PER_ROW,
} from '#core/control-plane-cost';
import { controlPlaneUsd } from '#core/attempt-cost';
import { UsageRowSchema } from '#core/usage-row';
import { FUNCTIONS } from '#contracts/functions';
import { priceSheetOf } from '#contracts/price-sheets';
import { CountingWorld, type Counted } from './counting-world.ts';

/** Of the sweep, not of the unit. */
const SWEEP_STATES = ['PlanSweep', 'AreUnitsPlanned', 'RunUnits', 'ReportSweep'];
const SWEEP_FUNCTIONS = ['plan-sweep', 'report-sweep', 'host'];

describe.each(['light', 'same-sandbox'] as const)('a unit with a %s grader costs what the arithmetic says', (mode) => {
  const world = new CountingWorld();
  /** What it counted, a grader in the sandbox taken for the grader it stands for. */
  const counted = (): [string, Counted][] =>
    [...world.byFunction]
      .filter(([name]) => !SWEEP_FUNCTIONS.includes(name))
      .map(([name, count]) => [name === 'run-sandbox-grader' ? 'run-grader' : name, count]);
  const totalOf = (key: keyof Counted): number => counted().reduce((sum, [, count]) => sum + count[key], 0);
  const arithmetic = countsOfStages(WHOLE_ATTEMPT, FUNCTIONS);

  beforeAll(async () => {
    await world.runOneUnit(mode);
  });

  it('in transitions, one for each state that is entered', () => {
    const entered = world.statesEntered.filter((state) => !SWEEP_STATES.includes(state));
    const known = statesOfWholeAttempt().map((state) =>
      state === 'RunGrader' && mode === 'same-sandbox' ? 'RunSandboxGrader' : state,
    );
    expect(entered.toSorted()).toEqual(known.toSorted());
    expect(arithmetic.transitions).toBe(entered.length);
  });

  it('in calls, rows, reads, objects and events of every function', () => {
    const told = Object.fromEntries(
      counted().map(([name, { calls, writes, transactWrites, reads, objectPuts, objectGets, events }]) => [
        name,
        // The table has the function's own grader; one that asks the sandbox reads its attempt besides.
        { calls, writes, transactWrites, reads: name === 'run-grader' ? 0 : reads, objectPuts, objectGets, events },
      ]),
    );
    expect(
      told,
      'put what was counted into FUNCTION_ACTIONS of #core/control-plane-cost, then run npm run docs',
    ).toEqual(FUNCTION_ACTIONS);
  });

  it('in the sums that are priced', () => {
    expect(arithmetic.invocations).toBe(totalOf('calls'));
    expect(arithmetic.tableWriteUnits).toBeCloseTo(
      (totalOf('writes') + 2 * totalOf('transactWrites')) * WRITE_UNITS_PER_ROW,
      9,
    );
    expect(arithmetic.objectPuts).toBeCloseTo(totalOf('objectPuts'), 9);
    expect(arithmetic.events).toBeCloseTo(totalOf('events'), 9);
    const rows = totalOf('writes') + totalOf('transactWrites');
    expect(totalOf('rowBytes') / rows).toBeLessThan(WRITE_UNITS_PER_ROW * 1024);
  });

  it('and its usage row carries that amount', async () => {
    const { rows } = await world.store.query({ pk: 'usage#2026-01-01', limit: 10 });
    expect(rows.length).toBe(1);
    const usage = UsageRowSchema.parse(rows[0]?.body);
    const orchestration = usage.cost.find(({ part }) => part === 'orchestration');
    const sheet = priceSheetOf('us-east-1');
    if (sheet === null) throw new Error('there is no sheet for us-east-1');
    expect(orchestration).toMatchObject({ basis: 'estimated', usd: controlPlaneUsd(arithmetic, sheet) });
  });
});
