import { describe, expect, it } from 'vitest';
import { runAgent } from '#usecases/run-agent';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, runTo, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const WHY = 'it was found without the tag that makes it ours';

/** An agent that runs on a machine of which its provider says that. */
async function watched(said: 'ready' | 'stopped', isNotOurs: boolean) {
  const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 300 } : {}) });
  await runTo(world, 'setup');
  const payload = waiting(world);
  await runAgent(payload, world.ports);
  const sandboxId = world.machines.held[0]?.sandboxId ?? '';
  world.machines.states.set(sandboxId, { state: said, evidence: WHY, ...(isNotOurs ? { isNotOurs: true } : {}) });
  const asked = world.guest.acts.length;
  await watchRuns({}, world.ports);
  return { world, answer: world.tokens.answers.get(payload.token), asked: world.guest.acts.slice(asked) };
}

describe('a sandbox that is ours no more while the agent runs', () => {
  it.each(['ready', 'stopped'] as const)(
    'is lost to its attempt at the first look, with the evidence, and its guest is asked nothing: %s',
    async (state) => {
      const { world, answer, asked } = await watched(state, true);
      expect(answer).toMatchObject({ error: 'SandboxLostError', cause: expect.stringContaining(WHY) as unknown });
      expect((await world.attempt(ATTEMPT)).evidence).toBe(WHY);
      expect(asked).toEqual([]);
    },
  );

  it('is no other than one that something is wrong with, and that goes on all the same', async () => {
    const { answer } = await watched('ready', false);
    expect(answer).toBeUndefined();
  });
});
