import { describe, expect, it } from 'vitest';
import { drawSchedules, expectSound, FEWEST_SCHEDULES, SCHEDULES, SEED } from './property.ts';

const PARTS = 4;
const PER_PART = Math.ceil(SCHEDULES / 2 / PARTS);

describe('a sweep graded in mode same-sandbox, on a model of the cloud', () => {
  it('meets half of the schedules of faults that its mode of running asks for', () => {
    expect(PARTS * PER_PART).toBeGreaterThanOrEqual(FEWEST_SCHEDULES / 2);
  });

  it.each(Array.from({ length: PARTS }, (_, part) => part))(
    'leaves nothing behind, and blames nobody for another (part %i)',
    async (part) => {
      const list = drawSchedules(PER_PART, SEED * 1000 + 500 + part);
      await expectSound(list.map((schedule) => ({ ...schedule, gradingMode: 'same-sandbox' })));
    },
    900_000,
  );
});
