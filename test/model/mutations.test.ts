import { describe, expect, it } from 'vitest';
import { MUTANTS } from './mutants.ts';
import { drawSchedules, runSchedule, SEED } from './property.ts';

/** A mutant that so many schedules do not tell from the product would live on in a plain run. */
const MOST_SCHEDULES = 120;

describe('the property turns red', () => {
  it('for at least twelve mutants, each of a name of its own', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(MUTANTS.length).toBeGreaterThanOrEqual(12);
  });

  it.each(MUTANTS)(
    'when $name',
    async ({ interference, seenAs }) => {
      const seen: string[] = [];
      for (const schedule of drawSchedules(MOST_SCHEDULES, SEED * 1000)) {
        const { wrongs } = await runSchedule(schedule, interference);
        seen.push(...wrongs);
        if (wrongs.some((wrong) => seenAs.test(wrong))) return;
      }
      expect.fail(`none of ${String(MOST_SCHEDULES)} schedules shows it; they show: ${seen.slice(0, 5).join('; ')}`);
    },
    300_000,
  );
});
