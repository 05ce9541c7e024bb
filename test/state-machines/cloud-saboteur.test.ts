import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TRICKS, trickLaunch } from '#test/builders/saboteur-tricks';
import { tier } from '#test/runner/tier';
import { sabotage, type SabotagedSweep } from './cloud-saboteurs.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

/** Those that meet something else on a machine of its own than behind walls: the account of the agent is all that holds them. */
const ON_MACHINES = [
  ['kill-runner', 'stop-everything', 'forge-result'],
  ['kill-cua', 'delete-everything', 'hold-on'],
];

tier('isolation')('a saboteur on a machine of EC2', () => {
  describe.each(ON_MACHINES)('that plays %s, %s and %s', (...ids) => {
    const chosen = TRICKS.filter(({ id }) => ids.includes(id));
    let sweep: SabotagedSweep;
    beforeAll(async () => {
      sweep = await sabotage(
        chosen.map((trick) => ({ id: trick.id, source: trickLaunch(trick) })),
        15,
      );
    });
    afterAll(async () => {
      await sweep.close();
    });

    it('earns no other attempt, and its records say how it went', () => {
      expect(chosen).toHaveLength(ids.length);
      for (const { id, outcome, said } of chosen) {
        const seen = sweep.of(id);
        const verdicts = seen.attempts.map(({ verdict }) => verdict);
        expect(verdicts, id).toMatchObject([{ blame: 'agent', retry: false }]);
        expect(seen.attempts[0]?.outcome, id).toMatchObject({ kind: outcome });
        expect(seen.unit, id).toMatchObject({ class: 'scored' });
        expect(seen.said.slice(0, 20_000)).toMatch(said);
      }
    });

    it('costs one machine for each, and nothing of any is left', () => {
      expect(sweep).toMatchObject({ machines: chosen.length, leftovers: [] });
    });
  });
});
