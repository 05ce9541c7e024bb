import { describe, expect, it } from 'vitest';
import { gradeId } from '#core/ids';
import { objectKeys, rowKeys } from '#core/keys';
import type { GradePayload } from '#contracts/payloads';
import { commitGrade } from '#usecases/commit-grade';
import { runGrader } from '#usecases/run-grader';
import { stageGrade } from '#usecases/stage-grade';
import { startRegrade } from '#usecases/steps/regrade';
import { ATTEMPT, failure, runSteps, runTo, UNIT } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const BY = 'arn:aws:iam::111122223333:user/ada';

async function closedWorld(score: unknown = 0.5): Promise<World> {
  const world = new World();
  world.modules.behave['evaluate'] = () => ({ value: { score } });
  await runTo(world, 'closeUnit');
  return world;
}

/** The payload that the grade machine was started with last. */
function started(world: World): GradePayload {
  const last = [...world.executions.started.values()].at(-1);
  expect(last?.machine).toBe('grade');
  return last?.input as GradePayload;
}

/** What the grade machine does with it. */
async function grade(world: World, payload: GradePayload, score: unknown): Promise<void> {
  world.modules.behave['evaluate'] = () => ({ value: { score } });
  const { stageUrl } = await stageGrade(payload, world.ports);
  await runGrader({ gradeId: payload.gradeId, timeoutSeconds: 60, stageUrl }, world.ports);
  await commitGrade({ ...payload, error: null }, world.ports);
}

describe('grading a closed unit again', () => {
  it('runs the grader on what was collected, and the newer grade stands; the first is kept', async () => {
    const world = await closedWorld();
    expect(await world.unit(UNIT)).toMatchObject({ score: 0.5 });
    const asked = await startRegrade(world.ports, await world.unit(UNIT), BY);
    expect(asked).toEqual({ attemptId: ATTEMPT, gradeNumber: 2 });
    expect(started(world)).toMatchObject({ gradeId: gradeId(ATTEMPT, 2), gradeNumber: 2, mode: 'light' });
    expect((await world.attempt(ATTEMPT)).regrades).toMatchObject([{ number: 2, by: BY }]);
    expect(await world.unit(UNIT)).toMatchObject({ score: 0.5 });
    await grade(world, started(world), 1);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 1, winningAttemptId: ATTEMPT });
    expect(await world.attempt(ATTEMPT)).toMatchObject({ standingGrade: 2, grade: { score: 1 } });
    for (const number of [1, 2]) {
      const key = objectKeys.grade(ATTEMPT, number);
      expect(await world.artifacts.head({ bucket: 'artifacts', key })).toBeDefined();
    }
  });

  it('gives a unit its score that had lost it to a grader of ours', async () => {
    const world = new World();
    await runTo(world, 'gradeUnit');
    const error = failure('GraderUnavailableError', 'RunGrader');
    await commitGrade({ ...started(world), error }, world.ports);
    await runSteps(world, 'record', 'closeUnit');
    expect(await world.unit(UNIT)).toMatchObject({ class: 'lost', score: null });
    await startRegrade(world.ports, await world.unit(UNIT), BY);
    await grade(world, started(world), 0.75);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.75, winningAttemptId: ATTEMPT });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({ ledgerClass: 'scored' });
  });

  it('takes no grade away when the new grading came to none', async () => {
    const world = await closedWorld();
    await startRegrade(world.ports, await world.unit(UNIT), BY);
    const error = failure('GraderUnavailableError', 'RunGrader');
    await commitGrade({ ...started(world), error }, world.ports);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5 });
    expect(await world.attempt(ATTEMPT)).toMatchObject({ standingGrade: 1, grade: { kind: 'graded' } });
  });

  it('lets the newest of two gradings stand, whichever commits last', async () => {
    const world = await closedWorld();
    await startRegrade(world.ports, await world.unit(UNIT), BY);
    const second = started(world);
    await startRegrade(world.ports, await world.unit(UNIT), BY);
    const third = started(world);
    expect([second.gradeNumber, third.gradeNumber]).toEqual([2, 3]);
    await grade(world, third, 0.9);
    await grade(world, second, 0.1);
    expect(await world.unit(UNIT)).toMatchObject({ score: 0.9 });
  });

  it('changes nothing for a grade that nobody asked for', async () => {
    const world = await closedWorld();
    const payload = { ...started(world), gradeNumber: 7, gradeId: gradeId(ATTEMPT, 7) };
    await grade(world, payload, 1);
    expect(await world.unit(UNIT)).toMatchObject({ score: 0.5 });
  });

  it('is refused with the reason: open, never attempted, nothing collected', async () => {
    const open = new World();
    await runTo(open, 'collect');
    const refused = (world: World): Promise<unknown> =>
      world.unit(UNIT).then(async (unit) => await startRegrade(world.ports, unit, BY));
    await expect(refused(open)).rejects.toThrow(/cannot be graded again: it is still open/u);
    const fresh = new World();
    await runTo(fresh, 'closeUnit');
    const body = { ...(await fresh.unit(UNIT)), attempts: 0, winningAttemptId: null };
    await fresh.store.write([{ put: { ...rowKeys.unit('first', UNIT), body }, when: 'exists' }]);
    await expect(refused(fresh)).rejects.toThrow(/it was never attempted/u);
    const empty = await closedWorld();
    await empty.changeAttempt(ATTEMPT, { collected: null });
    await expect(refused(empty)).rejects.toThrow(/no output of it was collected/u);
    expect([...empty.executions.started.values()]).toHaveLength(1);
  });
});
