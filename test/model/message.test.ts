import { describe, expect, it } from 'vitest';
import { MUTANTS } from './mutants.ts';
import { drawSchedules, expectSound, runSchedule, SEED } from './property.ts';
import { CALM, type Schedule } from './schedule.ts';

const MUTANT = MUTANTS.find(({ name }) => name === 'the intent row is skipped');

describe('the message of a failing schedule', () => {
  it('holds a schedule that fails in the same way again, and a timeline', async () => {
    if (MUTANT === undefined) throw new Error('the mutant is gone');
    const { interference, seenAs } = MUTANT;
    const message = await expectSound(drawSchedules(1, SEED), interference).then(() => '', String);
    const told = /^(?:Error: )?schedule (\{.*\})$/mu.exec(message)?.[1] ?? '{}';
    const printed = JSON.parse(told) as Partial<Schedule>;
    expect(printed.seed).toEqual(expect.any(Number));
    const again: Schedule = { ...CALM, ...printed, rates: { ...CALM.rates, ...printed.rates } };
    const { wrongs } = await runSchedule(again, interference);
    expect(wrongs.join('\n')).toMatch(seenAs);
    for (const wrong of wrongs) expect(message).toContain(`- ${wrong}`);
    expect(message).toMatch(/^timeline:\n(?:\+\d\d:\d\d:\d\d .+\n?){3,}/mu);
    expect((await runSchedule(again)).wrongs).toEqual([]);
  }, 60_000);
});
