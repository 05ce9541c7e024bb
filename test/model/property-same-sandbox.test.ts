import { describe, expect, it } from 'vitest';
import { drawSchedules, expectSound, SCHEDULES, SEED } from './property.ts';

const PARTS = 4;
const PER_PART = Math.ceil(SCHEDULES / 2 / PARTS);

describe('a sweep graded in mode same-sandbox, on a model of the cloud', () => {
  it('meets a thousand schedules of faults in a plain run', () => {
    expect(PARTS * PER_PART).toBeGreaterThanOrEqual(1000);
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
