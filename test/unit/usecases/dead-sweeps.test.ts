import { describe, expect, it } from 'vitest';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { runTo, UNIT } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const MINUTE = 60_000;
const DEADLINE = Date.parse('2026-01-03T00:00:00.000Z');

/** Lets the clock come so many minutes past the sweep's deadline, and has the reaper look. */
async function lookAfterDeadline(world: World, minutes: number): Promise<void> {
  await world.clock.advance(DEADLINE + minutes * MINUTE - world.clock.now().getTime());
  await reapSandboxes({}, world.ports);
}

describe('a sweep whose execution died unheard before its units began', () => {
  it('is closed as failed by the reaper an hour after its deadline, its units lost and not the agent’s', async () => {
    const world = new World();
    await world.plan();
    await lookAfterDeadline(world, 59);
    expect(await world.keysIn('active-sweeps')).toEqual(['first']);
    await lookAfterDeadline(world, 60);
    expect(await world.keysIn('active-sweeps')).toEqual([]);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'lost', status: 'not_executed', attempts: 0 });
    await lookAfterDeadline(world, 70);
    expect((await world.unit(UNIT)).class).toBe('lost');
  });

  it('is left alone while an attempt of it is under way', async () => {
    const world = new World({ script: () => ({ seconds: 1_000_000 }) });
    await world.clock.advance(DEADLINE - 5 * MINUTE - world.clock.now().getTime());
    await runTo(world, 'await');
    await lookAfterDeadline(world, 61);
    expect(await world.keysIn('active-sweeps')).toEqual(['first']);
    expect((await world.unit(UNIT)).class).toBe('open');
  });
});
