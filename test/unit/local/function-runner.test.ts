import { describe, expect, it } from 'vitest';
import { functionNamed } from '#contracts/functions';
import { ExamHallError } from '#core/errors';
import { FunctionRunner, MAX_INVOCATION_BYTES } from '#local/function-runner';
import { VirtualClock } from '#local/clock';
import { ATTEMPT, ids, runTo } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const PAYLOAD = JSON.stringify(ids);
const sweepPayload = JSON.stringify({ sweepId: 'first', run: 1 });

async function ready(
  clock = new VirtualClock(),
): Promise<{ readonly world: World; readonly runner: FunctionRunner; readonly clock: VirtualClock }> {
  const world = new World();
  const runner = new FunctionRunner(() => world.ports, clock);
  await runner.loadAll();
  return { world, runner, clock };
}

describe('a function', () => {
  it('gets and gives nothing but JSON', async () => {
    const { world, runner } = await ready();
    await runTo(world, 'closeUnit');
    const answer = await runner.invoke('report-sweep', sweepPayload);
    expect(JSON.parse(answer)).toMatchObject({ planned: 1, scored: 1 });
    expect(await runner.invoke('close-attempt', JSON.stringify({ ...ids, error: null }))).toBe(
      '{"retry":false,"nextAttempt":2}',
    );
  });

  it('answers null where its handler returns nothing', async () => {
    const { world, runner } = await ready();
    await runTo(world, 'admit');
    expect(await runner.invoke('provision-sandbox', PAYLOAD)).toBe('null');
    expect((await world.attempt(ATTEMPT)).sandbox).not.toBeNull();
  });

  it('keeps the name of its error', async () => {
    const { runner } = await ready();
    await expect(runner.invoke('plan-sweep', '{}')).rejects.toMatchObject({ name: 'PayloadInvalidError' });
    await expect(runner.invoke('plan-sweep', sweepPayload)).rejects.toMatchObject({ name: 'InvalidRequestError' });
  });

  it('that is not declared is refused by name', async () => {
    const { runner } = await ready();
    await expect(runner.invoke('no-such-function', '{}')).rejects.toThrow(
      /unknown function "no-such-function"; declared: plan-sweep/u,
    );
  });
});

describe('the size of a call', () => {
  it('is bounded in bytes on the way in', async () => {
    const { world, runner } = await ready();
    const padded = (bytes: number): string => `{"x":"${'ä'.repeat(Math.floor((bytes - 8) / 2))}"}`;
    await expect(runner.invoke('grant-slots', padded(MAX_INVOCATION_BYTES + 2))).rejects.toMatchObject({
      name: 'Lambda.RequestTooLargeException',
    });
    await expect(runner.invoke('grant-slots', padded(MAX_INVOCATION_BYTES - 2))).resolves.toBe('null');
    expect(world.store.calls.length).toBeGreaterThan(0);
  });

  it('is bounded on the way out', async () => {
    const { world, runner } = await ready();
    await runTo(world, 'release');
    await world.plan();
    world.artifacts.signGet = async () => 'x'.repeat(MAX_INVOCATION_BYTES);
    const grade = { ...ids, gradeId: `${ATTEMPT}.g1`, gradeNumber: 1, mode: 'light', timeoutSeconds: 60 };
    await expect(runner.invoke('stage-grade', JSON.stringify(grade))).rejects.toMatchObject({
      name: 'Function.ResponseSizeTooLarge',
    });
  });
});

describe('the time of a call', () => {
  it('ends with the declared timeout, and the function may be called again', async () => {
    const { world, runner, clock } = await ready();
    await runTo(world, 'admit');
    const acquire = world.machines.acquire.bind(world.machines);
    let isSlow = true;
    world.machines.acquire = async (spec) => {
      if (isSlow) await clock.sleep(3_600_000);
      return await acquire(spec);
    };
    const { timeoutSeconds } = functionNamed('provision-sandbox');
    const started = clock.now().getTime();
    await expect(runner.invoke('provision-sandbox', PAYLOAD)).rejects.toMatchObject({
      name: 'Sandbox.Timedout',
      message: `provision-sandbox did not end within ${String(timeoutSeconds)} seconds`,
    });
    expect((clock.now().getTime() - started) / 1000).toBe(timeoutSeconds);
    isSlow = false;
    await expect(runner.invoke('provision-sandbox', PAYLOAD)).resolves.toBe('null');
  });

  it('leaves no timer behind when it ends in time or badly', async () => {
    const { runner, clock } = await ready();
    await runner.invoke('grant-slots', '{}');
    await expect(runner.invoke('plan-sweep', sweepPayload)).rejects.toThrow();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('reserved concurrency', () => {
  it('refuses one call more by name, and lets the next in when one has ended', async () => {
    const { world, runner } = await ready();
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const query = world.store.query.bind(world.store);
    world.store.query = async (asked) => {
      await gate;
      return await query(asked);
    };
    const first = runner.invoke('grant-slots', '{}');
    await expect(runner.invoke('grant-slots', '{}')).rejects.toMatchObject({ name: 'Lambda.TooManyRequestsException' });
    open();
    await first;
    await expect(runner.invoke('grant-slots', '{}')).resolves.toBe('null');
  });

  it('does not bound functions that reserve none', async () => {
    const { runner } = await ready();
    const calls = Array.from({ length: 100 }, async () => await runner.invoke('plan-sweep', sweepPayload));
    const ends = await Promise.allSettled(calls);
    const names = ends.map((end) => (end.status === 'rejected' ? (end.reason as Error).name : 'none'));
    expect(new Set(names)).toEqual(new Set(['InvalidRequestError']));
  });
});

it('a function that fails in the middle gives its place back', async () => {
  const { world, runner } = await ready();
  for (let tries = 0; tries < 3; tries += 1) {
    world.store.failNext(1, new ExamHallError('StoreUnavailableError', 'no answer'));
    await expect(runner.invoke('grant-slots', '{}')).rejects.toMatchObject({ name: 'StoreUnavailableError' });
  }
});
