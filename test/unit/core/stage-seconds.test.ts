import { expect, it } from 'vitest';
import { stageSecondsOf } from '#core/stage-seconds';

it('a stage took from its start to its end, and one that never ended is left out', () => {
  const times = {
    stageStartedAt: {
      run: '2026-01-01T00:00:00.000Z',
      collect: '2026-01-01T00:01:00.000Z',
      grade: '2026-01-01T00:02:00.000Z',
    },
    stageEndedAt: {
      run: '2026-01-01T00:00:01.500Z',
      collect: '2026-01-01T00:01:00.000Z',
      stage: '2026-01-01T00:00:00.000Z',
    },
  };
  expect(stageSecondsOf(times)).toEqual({ run: 1.5, collect: 0 });
});
