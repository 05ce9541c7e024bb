import { expect, it, vi } from 'vitest';
import { tier } from '#test/runner/tier';
import { ACTS, lyingRunner, OF_COLLECT } from './cloud-liars.ts';
import { sabotage, type Saboteur } from './cloud-saboteurs.ts';

vi.setConfig({ testTimeout: 300_000 });

/** Its collect is under way for ever, as far as anybody is told. */
const STALLER: Saboteur = {
  id: 'root-stalls-collect',
  source: ACTS,
  asRoot: lyingRunner(`if (${OF_COLLECT}) answer.value = { state: 'running', startedAt: answer.value.result.startedAt };
return real(answer);`),
};

tier('isolation')('a root saboteur whose collect never ends on EC2', () => {
  it('has the one attempt, and its state the time it had', async () => {
    const sweep = await sabotage([STALLER], 15);
    try {
      const { attempts, unit } = sweep.of(STALLER.id);
      expect(attempts).toMatchObject([
        { error: { name: 'States.Timeout' }, verdict: { signatureId: 'untrusted-guest-stalls', retry: false } },
      ]);
      expect(unit.class).toBe('forfeited');
      expect(sweep).toMatchObject({ machines: 1, leftovers: [] });
    } finally {
      await sweep.close();
    }
  });
});
