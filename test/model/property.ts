import fc from 'fast-check';
import { isTierOn } from '#test/runner/tier';
import { WHOLE } from '#test/runner/tiers';
import { FAULT_KINDS } from './chance.ts';
import { explain, wrongsOf } from './invariants.ts';
import { schedules } from './schedules.ts';
import type { Schedule } from './schedule.ts';
import { ModelWorld, type Interference } from './world.ts';

/** Schedules over both ways of grading: some in a quick run, all with the tier `whole`; more by EXAMHALL_MODEL_SCHEDULES. */
export const FEWEST_SCHEDULES = isTierOn(WHOLE) ? 2000 : 200;
export const SCHEDULES = Math.max(FEWEST_SCHEDULES, Number(process.env['EXAMHALL_MODEL_SCHEDULES'] ?? 0));
/** Another seed by EXAMHALL_MODEL_SEED. */
export const SEED = Number(process.env['EXAMHALL_MODEL_SEED'] ?? 1);

export function drawSchedules(count: number, seed: number): readonly Schedule[] {
  return fc.sample(schedules, { numRuns: count, seed });
}

/** A world after its sweep, and what is wrong with it. */
export async function runSchedule(
  schedule: Schedule,
  interference: Interference = {},
): Promise<{ readonly world: ModelWorld; readonly wrongs: readonly string[] }> {
  const world = await ModelWorld.create(schedule, interference);
  await world.run();
  return { world, wrongs: await wrongsOf(world) };
}

/** Runs them all. @throws Error with a small schedule that fails as the first failing one does, and its timeline. */
export async function expectSound(list: readonly Schedule[], interference: Interference = {}): Promise<void> {
  for (const schedule of list) {
    const { wrongs } = await runSchedule(schedule, interference);
    if (wrongs.length > 0) throw new Error(await explainSmallest(schedule, interference));
  }
}

/** Leaves out one thing after the other as long as something goes wrong without it. */
async function explainSmallest(failing: Schedule, interference: Interference): Promise<string> {
  let smallest = failing;
  const attempt = async (simpler: Schedule): Promise<void> => {
    if ((await runSchedule(simpler, interference)).wrongs.length > 0) smallest = simpler;
  };
  for (let units = 1; units < failing.units && smallest.units > units; units += 1)
    await attempt({ ...smallest, units });
  for (const kind of FAULT_KINDS) {
    if (smallest.rates[kind] > 0) await attempt({ ...smallest, rates: { ...smallest.rates, [kind]: 0 } });
  }
  const { world, wrongs } = await runSchedule(smallest, interference);
  return explain(world, wrongs);
}
