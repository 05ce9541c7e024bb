import { describe, expect, it } from 'vitest';
import { CLOUD_SCENARIOS } from '#test/state-machines/cloud-scenarios';
import { playScenario } from './scenarios.ts';

describe('what the stand-in does for real, the model does too', () => {
  it('has some twenty scenarios', () => {
    expect(CLOUD_SCENARIOS.length).toBeGreaterThanOrEqual(20);
  });

  it.each(CLOUD_SCENARIOS)(
    '$part: $name',
    async (scenario) => {
      const { outcome, left, timeline } = await playScenario(scenario);
      expect(outcome, timeline).toEqual(scenario.expected);
      expect(left, timeline).toEqual([]);
    },
    60_000,
  );
});
