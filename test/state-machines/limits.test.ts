import { describe, expect, it } from 'vitest';
import { GradePayload, SweepPayload, UnitPlanItem } from '#contracts/payloads';
import { functionNameOf } from '#local/machines';
import { machine, MACHINE_NAMES } from './definitions.ts';
import { example, fail, MachineHarness, named, type Behaviour, type Payload } from './machine-harness.ts';

const PAYLOAD_BUDGET_BYTES = 64 * 1024;
const HISTORY_BUDGET = 2000;
/** The payload schemas allow ids no longer than this. */
const LONGEST_ID = 'x'.repeat(512);
/** As much as the service keeps of a cause, in the letters that take most bytes. */
const LONGEST_CAUSE = '\u{1F600}'.repeat(16_000);
const LONGEST_NAME = 'E'.repeat(256);

const tasksOf = (name: (typeof MACHINE_NAMES)[number]) =>
  Object.entries(machine(name).States).flatMap(([state, definition]) =>
    definition.Type === 'Task' ? [{ state, definition }] : [],
  );

const longestUnit: Payload = {
  ...Object.fromEntries(
    Object.entries(example('unit')).map(([key, value]) => [key, typeof value === 'number' ? 99_999_999 : value]),
  ),
  sweepId: LONGEST_ID,
  unitId: LONGEST_ID,
};

/** The most bytes that any function was called with. */
const most = (harness: MachineHarness): number => Math.max(...harness.calls.map(({ bytes }) => bytes));

/** Fails with each error that is retried, as often as it is, and then for good. */
function exhausting(
  state: {
    readonly definition: {
      readonly Retry?: readonly { readonly ErrorEquals: readonly string[]; readonly MaxAttempts: number }[];
    };
  },
  last: Behaviour,
): Behaviour {
  const errors = (state.definition.Retry ?? []).flatMap(({ ErrorEquals, MaxAttempts }) =>
    Array.from({ length: MaxAttempts }, () => ErrorEquals[0] ?? 'none'),
  );
  return (payload, harness, tries) => {
    const error = errors[tries];
    if (error !== undefined) throw named(error, LONGEST_CAUSE);
    return last(payload, harness, tries);
  };
}

describe('the worst payload', () => {
  it('is allowed by the schemas, and no longer one is', () => {
    expect(UnitPlanItem.safeParse(longestUnit).success).toBe(true);
    expect(UnitPlanItem.safeParse({ ...longestUnit, unitId: `${LONGEST_ID}x` }).success).toBe(false);
    expect(GradePayload.safeParse({ ...example('grade'), gradeId: `${LONGEST_ID}x` }).success).toBe(false);
    expect(SweepPayload.safeParse({ sweepId: `${LONGEST_ID}x`, run: 1 }).success).toBe(false);
  });

  it.each(tasksOf('unit'))(
    'of a unit whose $state fails with the longest words is within the budget',
    async ({ state }) => {
      const harness = new MachineHarness({ [functionNameOf(state)]: fail(LONGEST_NAME, LONGEST_CAUSE) });
      await harness.run('unit', longestUnit);
      expect(harness.calls.length).toBeGreaterThan(1);
      expect(most(harness)).toBeLessThan(PAYLOAD_BUDGET_BYTES);
    },
  );

  it('really carries the longest words: what the close is told is as long as a state keeps of it', async () => {
    const harness = new MachineHarness({ 'run-agent': fail(LONGEST_NAME, LONGEST_CAUSE) });
    await harness.run('unit', longestUnit);
    const { name, message } = harness.callsOf('close-attempt')[0]?.payload['error'] as Readonly<Record<string, string>>;
    expect(name).toBe(LONGEST_NAME);
    expect(Array.from(message ?? '').length).toBe(2000);
    expect(most(harness)).toBeGreaterThan(4000);
  });

  it.each(tasksOf('grade'))(
    'of a grade whose $state fails with the longest words is within the budget',
    async ({ state }) => {
      const mode = state === 'RunSandboxGrader' ? 'same-sandbox' : 'light';
      const input = {
        ...example('grade'),
        mode,
        sweepId: LONGEST_ID,
        unitId: LONGEST_ID,
        attemptId: LONGEST_ID,
        gradeId: LONGEST_ID,
      };
      const harness = new MachineHarness({ [functionNameOf(state)]: fail(LONGEST_NAME, LONGEST_CAUSE) });
      await harness.run('grade', input);
      expect(most(harness)).toBeLessThan(PAYLOAD_BUDGET_BYTES);
    },
  );

  it('is all there is: no state passes on what a function answered, but for small answers of ours', () => {
    const passing = MACHINE_NAMES.flatMap((name) =>
      Object.entries(machine(name).States).flatMap(([state, definition]) => {
        const { Output, Type } = definition as { readonly Output?: unknown; readonly Type: string };
        const isEmpty = JSON.stringify(Output) === '{}';
        return isEmpty || ['Choice', 'Fail', 'Map'].includes(Type) ? [] : [`${name} ${state}`];
      }),
    );
    expect(passing.toSorted()).toEqual([
      'grade CommitGrade',
      'sweep ReportSweep',
      'unit CloseAttempt',
      'unit CloseUnit',
    ]);
  });
});

describe('the worst history', () => {
  it('of one attempt with every retry of every state used is within the budget', async () => {
    const worst = new MachineHarness();
    for (const task of tasksOf('unit')) {
      const name = functionNameOf(task.state);
      worst.behaviours[name] = exhausting(task, worst.behaviours[name] ?? (() => null));
    }
    const handle = await worst.run('unit');
    expect(handle.status).toBe('SUCCEEDED');
    for (const { state, definition } of tasksOf('unit')) {
      const retries = (definition.Retry ?? []).reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 0);
      expect([state, worst.callsOf(functionNameOf(state)).length]).toEqual([state, 1 + retries]);
    }
    expect(handle.historyEventCount).toBeGreaterThan(350);
    expect(handle.historyEventCount).toBeLessThan(HISTORY_BUDGET);
    expect(worst.history.length).toBe(handle.historyEventCount);
  });

  it('of one grading is within the budget too', async () => {
    const worst = new MachineHarness();
    for (const task of tasksOf('grade')) {
      const name = functionNameOf(task.state);
      worst.behaviours[name] = exhausting(task, worst.behaviours[name] ?? (() => null));
    }
    const handle = await worst.run('grade');
    expect(handle.status).toBe('SUCCEEDED');
    expect(handle.historyEventCount).toBeLessThan(HISTORY_BUDGET);
  });
});
