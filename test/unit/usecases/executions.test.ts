import { describe, expect, it } from 'vitest';
import { gradeId } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { ExecutionStatusDetail } from '#contracts/payloads';
import { admitUnit } from '#usecases/admit-unit';
import { closeAttempt } from '#usecases/close-attempt';
import { closeUnit } from '#usecases/close-unit';
import { gradeUnit } from '#usecases/grade-unit';
import { onExecutionFailed } from '#usecases/on-execution-failed';
import { reportSweep } from '#usecases/report-sweep';
import { runAgent } from '#usecases/run-agent';
import { ATTEMPT, failure, grading, ids, runSteps, runTo, UNIT, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const ended = (input: unknown, overrides: Partial<ExecutionStatusDetail> = {}): ExecutionStatusDetail => ({
  status: 'FAILED',
  executionArn: 'arn',
  name: 'execution-1',
  input: typeof input === 'string' ? input : JSON.stringify(input),
  error: null,
  cause: null,
  ...overrides,
});

async function unitEnded(world: World, overrides: Partial<ExecutionStatusDetail> = {}): Promise<void> {
  const [item] = await world.planItems('first', 1);
  await onExecutionFailed(ended(item, overrides), world.ports);
}

const sweepEnded = async (world: World) =>
  await onExecutionFailed(ended({ sweepId: 'first', run: 1 }, { status: 'ABORTED' }), world.ports);

const nothingLeft = async (world: World): Promise<void> => {
  expect(world.machines.held).toEqual([]);
  expect(world.timers.pending.size).toBe(0);
  for (const { pk } of [rowKeys.slot(''), rowKeys.openAttempt(''), rowKeys.admitWait('first', '')])
    expect([pk, await world.keysIn(pk)]).toEqual([pk, []]);
};

describe('the end of a unit’s execution without a Catch', () => {
  it.each(['FAILED', 'TIMED_OUT', 'ABORTED'] as const)(
    '(%s) releases, settles and closes what it left',
    async (status) => {
      const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 300 } : {}) });
      await runTo(world, 'setup');
      await runAgent(waiting(world), world.ports);
      await unitEnded(world, { status, error: 'States.Runtime', cause: 'too many events' });
      expect(await world.unit(UNIT)).toMatchObject({ class: 'lost', attempts: 1, score: null });
      const { error, verdict, closedAt } = await world.attempt(ATTEMPT);
      expect(error?.message).toContain(`${status}: States.Runtime too many events`);
      expect(verdict).toMatchObject({ blame: 'platform', ledgerClass: 'lost' });
      expect(closedAt).not.toBeNull();
      await nothingLeft(world);
      expect(world.events.published.at(-1)?.detailType).toBe('slot.freed');
    },
  );

  it('keeps a grade that was committed', async () => {
    const world = new World();
    await runTo(world, 'commitGrade');
    await unitEnded(world);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5, winningAttemptId: ATTEMPT });
    await nothingLeft(world);
  });

  it('changes nothing about a unit that had been settled, and releases what it still has', async () => {
    const world = new World();
    await runTo(world, 'collect');
    const { sandboxId = '' } = world.machines.held[0] ?? {};
    world.machines.stubborn.set(sandboxId, 1);
    await expect(runSteps(world, 'release', 'release')).rejects.toThrow();
    await runSteps(world, 'gradeUnit', 'close');
    await closeUnit({ sweepId: 'first', run: 1, unitId: UNIT, error: null, token: 'closing' }, world.ports);
    const before = await world.unit(UNIT);
    await unitEnded(world, { error: 'TeardownPendingError' });
    expect(await world.unit(UNIT)).toEqual(before);
    await nothingLeft(world);
  });

  it('leaves a unit whose admission was refused not run', async () => {
    const world = new World();
    await world.plan();
    await closeUnit(
      { sweepId: 'first', run: 1, unitId: UNIT, error: failure('DeadlinePassedError', 'AdmitUnit'), token: 'c' },
      world.ports,
    );
    await unitEnded(world);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'not_run', notRunReason: 'deadline' });
  });

  it('while it waited for a slot loses the unit, or leaves it not run when its sweep was cancelled', async () => {
    for (const cancelled of [false, true]) {
      const world = new World();
      await world.plan();
      await admitUnit({ sweepId: 'first', run: 1, unitId: UNIT, attempt: 1, token: 'waiting' }, world.ports);
      const body = { ...(await world.store.get(rowKeys.sweep('first')))?.body, cancelled };
      await world.store.write([{ put: { ...rowKeys.sweep('first'), body }, when: 'any' }]);
      await unitEnded(world, { status: 'ABORTED' });
      const expected = cancelled
        ? { class: 'not_run', notRunReason: 'cancelled' }
        : { class: 'lost', notRunReason: null };
      expect(await world.unit(UNIT)).toMatchObject({ ...expected, attempts: 0 });
      await nothingLeft(world);
    }
  });

  it('told twice is the same as told once', async () => {
    const world = new World();
    await runTo(world, 'run');
    await unitEnded(world);
    const [unit, attempt] = [await world.unit(UNIT), await world.attempt(ATTEMPT)];
    await world.clock.advance(60_000);
    await unitEnded(world);
    expect([await world.unit(UNIT), await world.attempt(ATTEMPT)]).toEqual([unit, attempt]);
  });
});

describe('the end of a sweep’s execution', () => {
  it('settles every unit of the run and takes the sweep from the gate', async () => {
    const world = new World();
    await runTo(world, 'run', { trials: 4 });
    await sweepEnded(world);
    const units = await Promise.all(
      (await world.planItems('first', 1)).map(async ({ unitId }) => await world.unit(unitId)),
    );
    expect(units.length).toBe(4);
    expect(units.map((unit) => unit.class)).toEqual(units.map(() => 'lost'));
    expect(await world.keysIn('active-sweeps')).toEqual([]);
    expect((await world.store.get(rowKeys.sweep('first')))?.body).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('ended ABORTED') as unknown,
    });
    await nothingLeft(world);
  });

  it('leaves a later run of the same experiment alone', async () => {
    const world = new World();
    await runTo(world, 'run');
    await world.plan({ run: 2 });
    await sweepEnded(world);
    expect(await world.keysIn('active-sweeps')).toEqual(['first']);
    expect((await world.unit(UNIT)).class).toBe('open');
  });

  it('that never got to plan is no error', async () => {
    const world = new World();
    await expect(sweepEnded(world)).resolves.toBeUndefined();
  });
});

describe('the report', () => {
  it('settles units whose machine ended without a word', async () => {
    const world = new World();
    await runTo(world, 'run', { trials: 2 });
    await reportSweep({ sweepId: 'first', run: 1 }, world.ports);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'lost', attempts: 1 });
    expect(await world.unit(`${UNIT}__t002`)).toMatchObject({ class: 'lost', attempts: 0 });
    expect(await world.keysIn('slots'), 'its machine is still there').toEqual([ATTEMPT]);
    await unitEnded(world);
    await nothingLeft(world);
  });
});

describe('the end of a grade’s execution', () => {
  it('returns its token as an unavailable grader, which earns another attempt', async () => {
    const world = new World();
    await runTo(world, 'release');
    const payload = waiting(world);
    await gradeUnit(payload, world.ports);
    await onExecutionFailed(ended(grading(), { status: 'TIMED_OUT' }), world.ports);
    expect(world.tokens.answers.get(payload.token)).toMatchObject({ error: 'GraderUnavailableError' });
    const error = failure('GraderUnavailableError', 'GradeUnit');
    expect(await closeAttempt({ ...ids, error }, world.ports)).toMatchObject({ retry: true });
  });

  it('is known to a GradeUnit that asks again afterwards', async () => {
    const world = new World();
    await runTo(world, 'gradeUnit');
    await onExecutionFailed(ended(grading()), world.ports);
    const again = waiting(world);
    await gradeUnit(again, world.ports);
    expect(world.tokens.answers.get(again.token)).toEqual({ output: {} });
    expect(world.executions.started.size).toBe(1);
    expect(await closeAttempt({ ...ids, error: null }, world.ports)).toMatchObject({ retry: true });
  });

  it('changes no grade that was committed, nor one of another number', async () => {
    const world = new World();
    await runTo(world, 'commitGrade');
    const { grade } = await world.attempt(ATTEMPT);
    await onExecutionFailed(ended(grading()), world.ports);
    await onExecutionFailed(ended({ ...grading(), gradeNumber: 2, gradeId: gradeId(ATTEMPT, 2) }), world.ports);
    expect((await world.attempt(ATTEMPT)).grade).toEqual(grade);
  });
});

it.each(['', 'no json', '{}', '{"sweepId":1}', null])(
  'an execution with the input %j is none of ours',
  async (input) => {
    const world = new World();
    await runTo(world, 'run');
    const before = [await world.unit(UNIT), await world.attempt(ATTEMPT)];
    await onExecutionFailed({ ...ended(''), input }, world.ports);
    expect([await world.unit(UNIT), await world.attempt(ATTEMPT)]).toEqual(before);
    expect(world.machines.held.length).toBe(1);
  },
);

describe('a sweep whose machine failed', () => {
  it('says why in its own row, without the trace that came in the cause', async () => {
    const world = new World();
    await world.plan();
    const cause = JSON.stringify({
      errorType: 'TypeError',
      errorMessage: 'no plan',
      trace: ['at /var/task/index.mjs:1'],
    });
    const overrides = { name: 'first-r1', error: 'TypeError', cause };
    await onExecutionFailed(ended({ sweepId: 'first', run: 1 }, overrides), world.ports);
    const row = (await world.store.get(rowKeys.sweep('first')))?.body;
    expect(row).toMatchObject({ status: 'failed', error: 'first-r1 ended FAILED: TypeError no plan' });
  });
});
