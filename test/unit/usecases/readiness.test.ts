import { describe, expect, it } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { rowKeys } from '#core/keys';
import { storedSandbox } from '#usecases/steps/attempt-stages';
import type { GuestReadiness } from '#ports/channel';
import { awaitSandbox, LAST_LOOK_SECONDS, LOOKS_SECONDS } from '#usecases/await-sandbox';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, awaitInTime, runTo, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

/** A world whose machine is launched, and whose guest says this. */
async function launched(...said: readonly GuestReadiness[]): Promise<{ world: World; token: string }> {
  const world = new World();
  await runTo(world, 'provision');
  const answers = [...said];
  world.guest.readiness = async () => answers.shift() ?? { state: 'waiting', waitsFor: 'agent-online' };
  return { world, token: (await awaitInTime(world)).token };
}

describe('row 14: a machine that runs is not ready before its guest is', () => {
  it('waits for its agent, its runner, its session and its screen, looking ever less often', async () => {
    const lacks = ['agent-online', 'runner', 'session', 'screen'] as const;
    const { world, token } = await launched(...lacks.map((waitsFor) => ({ state: 'waiting', waitsFor }) as const), {
      state: 'ready',
      sealingKey: 'K',
    });
    const told = world.log.lines.filter(({ event }) => event === 'sandbox.waiting');
    expect(told.map(({ fields }) => fields['waitsFor'])).toEqual(lacks);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    const { stageStartedAt, stageEndedAt } = await world.attempt(ATTEMPT);
    expect(Date.parse(stageEndedAt['await'] ?? '') - Date.parse(stageStartedAt['await'] ?? '')).toBe(60_000);
  });

  it('is left to the watch, a look a minute, when it takes longer than most', async () => {
    const { world, token } = await launched();
    const { clock } = world;
    const { stageStartedAt } = await world.attempt(ATTEMPT);
    expect(clock.now().getTime() - Date.parse(stageStartedAt['await'] ?? '')).toBeGreaterThanOrEqual(
      LOOKS_SECONDS * 1000,
    );
    const asked = () => world.log.lines.filter(({ event }) => event === 'sandbox.waiting').length;
    const before = asked();
    expect(before).toBe(6);
    await clock.advance(60_000);
    for (const more of [1, 2]) {
      await watchRuns({}, world.ports);
      expect(asked()).toBe(before + more);
      await clock.advance(60_000);
    }
    world.guest.readiness = async () => ({ state: 'ready', sealingKey: 'K' });
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
  });

  it('is not looked at sooner than a machine of its provider can be ready', async () => {
    const world = new World({ machines: { leastStartSeconds: 20 } });
    await runTo(world, 'provision');
    const { sandbox } = await world.attempt(ATTEMPT);
    const launchedAt = world.clock.now().toISOString();
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, launchedAt } });
    const looks: number[] = [];
    world.guest.readiness = async () => {
      looks.push((world.clock.now().getTime() - Date.parse(launchedAt)) / 1000);
      return { state: 'waiting', waitsFor: 'agent-online' };
    };
    await awaitInTime(world);
    expect(looks).toEqual([20, 40, 60, 90]);
  });

  it('is looked at no more late in the function’s time, however long its guest takes to answer', async () => {
    const world = new World();
    await runTo(world, 'provision');
    const started = world.clock.now().getTime();
    const looks: number[] = [];
    const HELLO_SECONDS = 30;
    world.guest.readiness = async () => {
      looks.push((world.clock.now().getTime() - started) / 1000);
      await world.clock.sleep(HELLO_SECONDS * 1000);
      return { state: 'waiting', waitsFor: 'runner' };
    };
    await awaitInTime(world);
    expect(looks.length).toBeGreaterThan(2);
    const last = looks.at(-1) ?? 0;
    expect(last).toBeLessThanOrEqual(LAST_LOOK_SECONDS);
    const { timeoutSeconds = 0 } = FUNCTIONS.find(({ name }) => name === 'await-sandbox') ?? {};
    const spent = (world.clock.now().getTime() - started) / 1000;
    expect(spent).toBeLessThan(timeoutSeconds);
  });

  it('is looked at again after a look that failed', async () => {
    let failures = 2;
    const world = new World({
      machineFault: (when, act) => {
        if (when === 'before' && act === 'describe' && failures-- > 0) throw new Error('RequestLimitExceeded');
      },
    });
    await runTo(world, 'provision');
    const { token } = await awaitInTime(world);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    expect(world.log.events.filter((event) => event === 'sandbox.unknown').length).toBe(2);
  });

  it('is looked at no more once somebody else has answered', async () => {
    const world = new World();
    await runTo(world, 'provision');
    let looks = 0;
    world.guest.readiness = async () => {
      looks += 1;
      return { state: 'waiting', waitsFor: 'runner' };
    };
    const payload = waiting(world);
    const done = awaitSandbox(payload, world.ports);
    await world.clock.advance(1000);
    await world.store.write([{ remove: rowKeys.sandboxWait(ATTEMPT), when: 'any' }]);
    await world.clock.advance(60_000);
    await done;
    expect(looks).toBe(2);
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
