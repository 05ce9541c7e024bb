import { describe, expect, it } from 'vitest';
import { jobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { SweepRowSchema } from '#core/rows';
import { closeAttempt } from '#usecases/close-attempt';
import { grantSlots } from '#usecases/grant-slots';
import { provisionSandbox } from '#usecases/provision-sandbox';
import { recordUnit } from '#usecases/record-unit';
import { releaseSandbox } from '#usecases/release-sandbox';
import { runAgent } from '#usecases/run-agent';
import { watchRuns } from '#usecases/watch-runs';
import { onRunFinished } from '#usecases/on-run-finished';
import { ATTEMPT, failure, ids, runSteps, runTo, UNIT, waiting, type StepName } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const RUN = jobId(ATTEMPT, 'run');

/** What the API does when an owner cancels. */
async function cancel(world: World): Promise<void> {
  const row = await world.store.get(rowKeys.sweep('first'));
  const body = { ...SweepRowSchema.parse(row?.body), cancelled: true };
  await world.store.write([{ put: { ...rowKeys.sweep('first'), body }, when: 'exists' }]);
}

async function worldAt(last: StepName): Promise<World> {
  const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 300 } : {}) });
  await runTo(world, last);
  return world;
}

/** The machine's way after a state failed: release, record, close the attempt and the unit. */
async function endWith(world: World, state: string): Promise<void> {
  const error = failure('SweepCancelledError', state);
  await releaseSandbox(ids, world.ports);
  await recordUnit({ ...ids, error }, world.ports);
  expect(await closeAttempt({ ...ids, error }, world.ports)).toMatchObject({ retry: false });
  await runSteps(world, 'closeUnit', 'closeUnit');
}

describe('a sweep that its owner cancels', () => {
  it('has its running agents stopped by the watch, and their units count as not run', async () => {
    const world = await worldAt('setup');
    const payload = waiting(world);
    await runAgent(payload, world.ports);
    await watchRuns({}, world.ports);
    expect(world.guest.acts.filter((act) => act.startsWith('stop'))).toEqual([]);
    await cancel(world);
    await watchRuns({}, world.ports);
    await onRunFinished({ jobId: RUN }, world.ports);
    expect(world.tokens.answers.get(payload.token)).toMatchObject({ output: {} });
    await runSteps(world, 'collect', 'gradeUnit');
    expect(world.executions.started.size).toBe(0);
    await runSteps(world, 'record', 'closeUnit');
    const attempt = await world.attempt(ATTEMPT);
    expect(attempt.outcome).toMatchObject({ kind: 'cancelled' });
    expect(attempt.verdict).toMatchObject({ blame: 'caller', retry: false, ledgerClass: 'not_run' });
    expect(await world.unit(UNIT)).toMatchObject({
      class: 'not_run',
      notRunReason: 'cancelled',
      status: 'cancelled',
      score: null,
    });
    expect(world.runTree.json(`${String(attempt.runDir)}/run.json`)).toMatchObject({ status: 'cancelled' });
    expect(world.machines.held).toEqual([]);
  });

  it('lets an agent that has ended by itself be graded', async () => {
    const world = new World();
    await runTo(world, 'run');
    await cancel(world);
    await runSteps(world, 'collect', 'closeUnit');
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5 });
  });

  it('has no transfer stopped, which ends soon by itself', async () => {
    const world = new World({ script: (job) => (job.kind === 'fetch' ? { seconds: 60 } : {}) });
    await runTo(world, 'await');
    await runSteps(world, 'stage', 'stage').catch(() => undefined);
    await cancel(world);
    await watchRuns({}, world.ports);
    expect(world.guest.acts.filter((act) => act.startsWith('stop'))).toEqual([]);
  });

  it('launches no sandbox and starts no agent any more', async () => {
    const early = await worldAt('admit');
    await cancel(early);
    await expect(provisionSandbox(ids, early.ports)).rejects.toMatchObject({ name: 'SweepCancelledError' });
    expect(early.machines.held).toEqual([]);
    await endWith(early, 'ProvisionSandbox');
    expect(await early.unit(UNIT)).toMatchObject({ class: 'not_run', notRunReason: 'cancelled' });

    const late = await worldAt('setup');
    await cancel(late);
    await expect(runAgent(waiting(late), late.ports)).rejects.toMatchObject({ name: 'SweepCancelledError' });
    await endWith(late, 'RunAgent');
    expect(await late.unit(UNIT)).toMatchObject({ class: 'not_run', notRunReason: 'cancelled' });
    expect(late.machines.held).toEqual([]);
  });

  it('refuses what waits, and grants nothing', async () => {
    const world = new World();
    await world.plan();
    await cancel(world);
    await expect(runSteps(world, 'admit', 'admit')).resolves.toBeUndefined();
    await grantSlots({}, world.ports);
    expect([...world.tokens.answers.values()]).toMatchObject([{ error: 'SweepCancelledError' }]);
  });
});
