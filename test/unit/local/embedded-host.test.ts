import { describe, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import { FUNCTIONS } from '#contracts/functions';
import { VirtualClock } from '#local/clock';
import { EmbeddedHost, type HostFaults } from '#local/embedded-host';
import { recover } from '#local/recover';
import { ATTEMPT, runSteps, runTo, UNIT } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

async function hostOver(
  world: World,
  faults: HostFaults = {},
): Promise<{ readonly host: EmbeddedHost; readonly clock: VirtualClock; readonly called: string[] }> {
  const clock = new VirtualClock({ start: world.clock.now() });
  const called: string[] = [];
  const host = await EmbeddedHost.create({
    clock,
    ports: world.ports,
    faults: {
      ...faults,
      invocation: async (name, call) => {
        called.push(name);
        return await call();
      },
    },
  });
  return { host, clock, called };
}

describe('the triggers of an embedded host', () => {
  it('call scheduled functions at their rates and no sooner', async () => {
    const { host, clock, called } = await hostOver(new World());
    await clock.elapse(301_000);
    host.close();
    const count = (name: string): number => called.filter((each) => each === name).length;
    expect([count('grant-slots'), count('watch-runs'), count('reap-sandboxes')]).toEqual([30, 5, 1]);
    expect(new Set(called)).toEqual(new Set(['grant-slots', 'watch-runs', 'reap-sandboxes']));
  });

  it('call a function for the events it is declared for', async () => {
    const { host, clock, called } = await hostOver(new World());
    await host.ports.events.publish('guest.job-finished', { jobId: 'nobody.1~run' });
    await host.ports.events.publish('sweep.changed', {});
    await clock.elapse(1000);
    host.close();
    expect(called.toSorted()).toEqual(['grant-slots', 'on-run-finished']);
  });

  it('call on-execution-failed for bad ends of executions only', async () => {
    const { host, clock, called } = await hostOver(new World());
    const { done } = host.startSweep('nobody', 1);
    expect((await done).status).toBe('FAILED');
    await clock.elapse(1000);
    host.close();
    expect(called.filter((name) => name === 'on-execution-failed').length).toBe(1);
  });

  it('call a timer once, at its time, unless it was removed', async () => {
    const world = new World();
    await runTo(world, 'provision');
    const { host, clock, called } = await hostOver(world);
    const { timers } = host.ports;
    const at = new Date(clock.now().getTime() + 60_000).toISOString();
    await timers.create('one', at, { attemptId: ATTEMPT });
    await timers.create('one', '2030-01-01T00:00:00.000Z', { attemptId: 'other' });
    await timers.create('two', at, { attemptId: ATTEMPT });
    await timers.remove('two');
    expect([await timers.exists('one'), await timers.exists('two')]).toEqual([true, false]);
    await clock.elapse(59_000);
    expect(called).not.toContain('expire-sandbox');
    await clock.elapse(120_000);
    host.close();
    expect(called.filter((name) => name === 'expire-sandbox').length).toBe(1);
    expect(world.machines.held).toEqual([]);
  });

  it('say in the log what was set aside', async () => {
    const world = new World();
    const { host, clock } = await hostOver(world);
    await host.ports.timers.create('one', clock.now().toISOString(), { attemptId: 'nobody.1' });
    await clock.elapse(300_000);
    host.close();
    expect(world.log.lines.find(({ event }) => event === 'invocation.set-aside')).toMatchObject({
      level: 'error',
      fields: { function: 'expire-sandbox', message: expect.stringContaining('nobody') as string },
    });
  });

  it('are silent after the close', async () => {
    const { host, clock, called } = await hostOver(new World());
    await host.ports.timers.create('one', clock.now().toISOString(), {});
    await host.ports.events.publish('sweep.changed', {});
    host.close();
    await clock.elapse(600_000);
    expect(called).toEqual([]);
    expect(FUNCTIONS.length).toBeGreaterThan(20);
  });
});

describe('executions', () => {
  const input = { gradeId: 'g' };

  it('of one name and input are one, also when it has ended', async () => {
    const { host, clock } = await hostOver(new World());
    const first = await host.ports.executions.start('grade', 'one', input);
    expect(await host.ports.executions.start('grade', 'one', input)).toEqual(first);
    await clock.elapse(600_000);
    expect(host.interpreter.describe(first.executionArn).status).not.toBe('RUNNING');
    expect(await host.ports.executions.start('grade', 'one', input)).toEqual(first);
    host.close();
  });

  it('of one name and another input are refused', async () => {
    const { host, clock } = await hostOver(new World());
    await host.ports.executions.start('grade', 'one', input);
    const other = async () => await host.ports.executions.start('grade', 'one', { gradeId: 'other' });
    await expect(other()).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' });
    await clock.elapse(600_000);
    await expect(other()).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' });
    host.close();
  });

  it('of a machine that does not exist are refused', async () => {
    const { host } = await hostOver(new World());
    await expect(host.ports.executions.start('none' as 'grade', 'x', {})).rejects.toMatchObject({
      name: 'StateMachineDoesNotExist',
    });
    host.close();
  });
});

describe('tokens', () => {
  it('that are used up, or never were, answer false', async () => {
    const { host } = await hostOver(new World());
    const { tokens } = host.ports;
    expect(await tokens.succeed('made up', {})).toBe(false);
    expect(await tokens.fail('made up', 'E', 'c')).toBe(false);
    expect(await tokens.heartbeat('made up')).toBe(false);
    host.close();
  });
});

describe('after its host died', () => {
  const recovered = async (world: World) => {
    const { host } = await hostOver(world);
    const recovery = await recover(host);
    host.close();
    return recovery;
  };

  it('an attempt under way is released, recorded, closed and not counted, and its unit may run again', async () => {
    const world = new World({ script: () => ({ seconds: 1000 }) });
    await runTo(world, 'await');
    expect((await recovered(world)).closedAttempts).toEqual([ATTEMPT]);
    const attempt = await world.attempt(ATTEMPT);
    expect(attempt).toMatchObject({
      error: { name: 'HostRestartedError' },
      verdict: { countsAsAttempt: false, blame: 'platform' },
    });
    expect(world.runTree.json(`${String(attempt.runDir)}/record.json`)).toBeDefined();
    expect(world.machines.held).toEqual([]);
    for (const { pk } of [
      rowKeys.slot(''),
      rowKeys.slotCounters(),
      rowKeys.openAttempt(''),
      rowKeys.admitWait('first', ''),
    ])
      expect(await world.keysIn(pk)).toEqual([]);
    expect(await world.keysIn('active-sweeps')).toEqual([]);
    expect((await world.unit(UNIT)).class).toBe('lost');
    const { items } = await world.plan({ run: 2 });
    expect(items.map(({ firstAttempt }) => firstAttempt)).toEqual([2]);
  });

  it('a committed grade stands and is not made again', async () => {
    const world = new World();
    await runTo(world, 'commitGrade');
    const { settledAttempts } = await recovered(world);
    expect(settledAttempts).toEqual([ATTEMPT]);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5 });
    expect((await world.plan({ run: 2 })).items).toEqual([]);
  });

  it('a grant that nobody took up leaves nothing behind', async () => {
    const world = new World();
    await runTo(world, 'admit');
    expect(await recovered(world)).toEqual({ closedAttempts: [], settledAttempts: [], releasedSandboxes: [] });
    expect(await world.store.get(rowKeys.attempt(ATTEMPT))).toBeUndefined();
    expect([...world.runTree.folders]).toEqual([]);
  });

  it('what cannot be put in order keeps nothing else from it', async () => {
    const world = new World({ script: () => ({ seconds: 1000 }) });
    await runTo(world, 'await');
    const [broken = ''] = (await world.keysIn('open-attempts')).map((id) => id.replace(/\.1$/u, '.2'));
    const row = {
      ...(await world.attempt(ATTEMPT)),
      attemptId: broken,
      attempt: 2,
      requestKey: 'sweeps/none/r1/request.json',
    };
    await world.store.write([
      { put: { ...rowKeys.attempt(broken), body: row }, when: 'absent' },
      { put: { ...rowKeys.openAttempt(broken), body: { attemptId: broken, sweepId: 'first' } }, when: 'absent' },
    ]);
    expect((await recovered(world)).closedAttempts).toEqual([ATTEMPT]);
    expect(world.log.events).toContain('recover.failed');
    // Its sweep's end settles it without the record.
    expect(await world.keysIn('open-attempts')).toEqual([]);
    expect((await world.attempt(broken)).closedAt).not.toBeNull();
  });

  it('sandboxes that were left on purpose stay', async () => {
    const world = new World();
    await runTo(world, 'collect', { cleanupMode: 'keep' });
    await runSteps(world, 'release', 'closeUnit');
    expect(world.machines.held.length).toBe(1);
    expect((await recovered(world)).releasedSandboxes).toEqual([]);
    expect(world.machines.held.length).toBe(1);
  });
});
