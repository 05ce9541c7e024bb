import { expect, it } from 'vitest';
import { jobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { runAgent } from '#usecases/run-agent';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, runTo, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const RUN = jobId(ATTEMPT, 'run');

it('a job whose end nothing tells is looked at in each pass of the watch, and seen within one of its end', async () => {
  const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 3600 } : {}) });
  await runTo(world, 'setup');
  Object.assign(world.guest, { tellsEnds: false });
  const payload = waiting(world);
  await runAgent(payload, world.ports);
  const wait = async () => (await world.store.get(rowKeys.jobWait(RUN)))?.body;
  expect(await wait()).toMatchObject({ eventBy: null, lookAt: null });
  const looks = (): number => world.guest.acts.filter((act) => act === `status ${RUN}`).length;
  for (let minute = 1; minute < 60; minute += 1) {
    await world.clock.advance(60_000);
    const before = looks();
    await watchRuns({}, world.ports);
    expect(looks()).toBe(before + 1);
  }
  expect(world.tokens.answers.has(payload.token)).toBe(false);
  await world.clock.advance(60_000);
  await watchRuns({}, world.ports);
  expect(world.tokens.answers.get(payload.token)).toEqual({ output: {} });
  expect(world.log.events).not.toContain('job.lost-event');
});
