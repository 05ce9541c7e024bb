import { describe, expect, it } from 'vitest';
import { SweepPayload } from '#contracts/payloads';
import { example, fail, MachineHarness, type Behaviour } from './machine-harness.ts';

function planned(units: number, behaviours: Readonly<Record<string, Behaviour>> = {}): MachineHarness {
  const harness = new MachineHarness({
    'plan-sweep': () => ({ unitsToRun: units, planKey: 'plan.jsonl', maxConcurrency: 10 }),
    ...behaviours,
  });
  const items = Array.from({ length: units }, (_, index) => ({ ...example('unit'), unitId: `u${String(index)}` }));
  harness.objects.set('artifacts/plan.jsonl', `${items.map((item) => JSON.stringify(item)).join('\n')}\n`);
  return harness;
}

describe('a sweep', () => {
  it('has a valid example', () => {
    expect(SweepPayload.parse(example('sweep'))).toEqual(example('sweep'));
  });

  it('plans, runs every unit as a child of its own, and reports', async () => {
    const harness = planned(25);
    const handle = await harness.run('sweep');
    expect(handle.status).toBe('SUCCEEDED');
    expect(harness.called[0]).toBe('plan-sweep');
    expect(harness.called.at(-1)).toBe('report-sweep');
    expect(new Set(harness.callsOf('close-unit').map(({ payload }) => payload['unitId'])).size).toBe(25);
    expect(
      harness.events.filter(
        ({ type, stateMachineName }) => type === 'SUCCEEDED' && stateMachineName === 'sweep/RunUnits',
      ).length,
    ).toBe(25);
    expect(handle.historyEventCount).toBeLessThan(50);
  });

  it('without units to run goes straight to its report', async () => {
    const harness = planned(0);
    await harness.run('sweep');
    expect(harness.called).toEqual(['plan-sweep', 'report-sweep']);
  });

  it('is reported, whatever became of its units', async () => {
    const harness = planned(5, { 'close-unit': fail('Boom') });
    expect((await harness.run('sweep')).status).toBe('SUCCEEDED');
    expect(harness.callsOf('report-sweep').length).toBe(1);
    const failed = harness.events.filter(({ type }) => type === 'FAILED');
    expect(failed.map(({ error }) => error)).toEqual(Array.from({ length: 5 }, () => 'TeardownPendingError'));
    for (const { input } of failed) expect(JSON.parse(input)).toMatchObject({ sweepId: example('sweep')['sweepId'] });
  });

  it('is reported when the map itself fails', async () => {
    const harness = planned(5);
    harness.objects.clear();
    expect((await harness.run('sweep')).status).toBe('SUCCEEDED');
    expect(harness.called).toEqual(['plan-sweep', 'report-sweep']);
  });

  it.each([
    ['plan-sweep', 'InvalidRequestError', ['plan-sweep']],
    ['plan-sweep', 'StoreUnavailableError', Array.from({ length: 6 }, () => 'plan-sweep')],
    ['report-sweep', 'StorageFullError', ['plan-sweep', 'report-sweep']],
  ])('whose %s fails with %s fails with that error and cause', async (name, error, called) => {
    const harness = planned(0, { [name]: fail(error, 'the reason') });
    const handle = await harness.run('sweep');
    expect(handle.status).toBe('FAILED');
    expect(harness.called).toEqual(called);
    expect(harness.events.at(-1)).toMatchObject({ error, cause: expect.stringContaining('the reason') as string });
  });

  it('that is stopped stops its units, and tells of each', async () => {
    const harness = planned(3, { 'admit-unit': () => null });
    const handle = harness.interpreter.start('sweep', { name: 'run', input: example('sweep') });
    await harness.clock.elapse(60_000);
    harness.interpreter.stop(handle.executionArn, 'Stopped', 'by hand');
    await handle.done;
    await harness.clock.elapse(1);
    const aborted = harness.events.filter(({ type }) => type === 'ABORTED');
    expect(aborted.map(({ stateMachineName }) => stateMachineName).toSorted()).toEqual([
      'sweep',
      'sweep/RunUnits',
      'sweep/RunUnits',
      'sweep/RunUnits',
    ]);
    expect(harness.interpreter.runningExecutions).toBe(0);
  });
});
