import { describe, expect, it } from 'vitest';
import { storedSandbox } from '#usecases/steps/attempt-stages';
import type { GuestReadiness } from '#ports/channel';
import { awaitSandbox } from '#usecases/await-sandbox';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, runTo, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

/** A world whose machine is launched, and whose guest says this. */
async function launched(...said: readonly GuestReadiness[]): Promise<{ world: World; token: string }> {
  const world = new World();
  await runTo(world, 'provision');
  const answers = [...said];
  world.guest.readiness = async () => answers.shift() ?? { state: 'waiting', waitsFor: 'agent-online' };
  const payload = waiting(world);
  await awaitSandbox(payload, world.ports);
  return { world, token: payload.token };
}

describe('row 14: a machine that runs is not ready before its guest is', () => {
  it('waits for its agent, its runner, its session and its screen, one look a minute', async () => {
    const lacks = ['agent-online', 'runner', 'session', 'screen'] as const;
    const { world, token } = await launched(...lacks.map((waitsFor) => ({ state: 'waiting', waitsFor }) as const), {
      state: 'ready',
      sealingKey: 'K',
    });
    for (const waitsFor of lacks) {
      expect(world.tokens.answers.has(token)).toBe(false);
      expect(world.log.lines.at(-1)).toMatchObject({ event: 'sandbox.waiting', fields: { waitsFor } });
      await watchRuns({}, world.ports);
    }
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    expect((await world.attempt(ATTEMPT)).stageEndedAt['await']).toBeDefined();
  });

  it('beats the token of one that still waits', async () => {
    const { world, token } = await launched();
    await watchRuns({}, world.ports);
    expect(world.tokens.beats).toEqual([token]);
  });

  it('keeps the key that the guest has told with the attempt’s sandbox', async () => {
    const { world } = await launched({ state: 'ready', sealingKey: 'K' });
    expect(storedSandbox(await world.attempt(ATTEMPT))?.sealingKey).toBe('K');
  });

  it('is ready without a word of a guest where a channel has none to say', async () => {
    const world = new World();
    await runTo(world, 'await');
    expect(storedSandbox(await world.attempt(ATTEMPT))?.sealingKey).toBeUndefined();
    expect((await world.attempt(ATTEMPT)).stageEndedAt['await']).toBeDefined();
  });

  it('fails at once for a guest that never will be', async () => {
    const { world, token } = await launched({ state: 'failed', reason: 'its runner is another version' });
    expect(world.tokens.answers.get(token)).toMatchObject({
      error: 'SandboxNotReadyError',
      cause: expect.stringContaining('its runner is another version') as string,
    });
    expect((await world.attempt(ATTEMPT)).stageEndedAt['await']).toBeUndefined();
  });
});
