import { describe, expect, it } from 'vitest';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { runAgent } from '#usecases/run-agent';
import { ATTEMPT, runTo, UNIT, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';
import { FakeMachines } from '#test/fakes/machines';
import { sandboxSpec } from '#test/fakes/sandbox';

const MINUTE = 60_000;

describe('the reaper', () => {
  it('ends a machine without an owner at its second sighting, five minutes after the first', async () => {
    const world = new World();
    await world.machines.acquire(sandboxSpec({ attemptId: 'forgotten.1', provider: 'noop' }));
    await reapSandboxes({}, world.ports);
    await world.clock.advance(4 * MINUTE);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held.length).toBe(1);
    await world.clock.advance(1 * MINUTE);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held).toEqual([]);
    expect(world.log.events.filter((event) => event.startsWith('sandbox.'))).toEqual([
      'sandbox.orphan-seen',
      'sandbox.reaped',
    ]);
    expect(await world.keysIn('sightings')).toEqual([]);
  });

  it('goes on with an orphan that does not go at once, and says what is left of it', async () => {
    const world = new World();
    const { sandboxId: id } = await world.machines.acquire(sandboxSpec({ attemptId: 'forgotten.1', provider: 'noop' }));
    world.machines.stubborn.set(id, 1);
    await reapSandboxes({}, world.ports);
    await world.clock.advance(5 * MINUTE);
    await reapSandboxes({}, world.ports);
    expect(world.log.lines.at(-1)).toMatchObject({
      event: 'sandbox.release-left',
      fields: { sandboxId: id, left: [`machine ${id}`] },
    });
    expect(world.log.events).not.toContain('sandbox.reaped');
    expect(await world.keysIn('sightings')).toEqual([id]);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held).toEqual([]);
    expect(world.log.events).toContain('sandbox.reaped');
    expect(await world.keysIn('sightings')).toEqual([]);
  });

  it('remembers no sighting of a machine that is gone, and forgets none because a listing broke off', async () => {
    const world = new World();
    const { sandboxId: id } = await world.machines.acquire(sandboxSpec({ attemptId: 'forgotten.1', provider: 'noop' }));
    await reapSandboxes({}, world.ports);
    await world.machines.lose(id, null);
    const list = world.machines.list.bind(world.machines);
    world.machines.list = async () => Promise.reject(new Error('no list'));
    await expect(reapSandboxes({}, world.ports)).rejects.toThrow('no list');
    expect(await world.keysIn('sightings')).toEqual([id]);
    world.machines.list = list;
    await reapSandboxes({}, world.ports);
    expect(await world.keysIn('sightings')).toEqual([]);
  });

  it.each(['no-attempt-id', 'x.0'])('ends a machine that is tagged %j too', async (attemptId) => {
    const world = new World();
    await world.machines.acquire(sandboxSpec({ attemptId }));
    for (let look = 0; look < 3; look += 1) {
      await reapSandboxes({}, world.ports);
      await world.clock.advance(5 * MINUTE);
    }
    expect(world.machines.held).toEqual([]);
  });

  it('only tells of what names no attempt, which nobody here has a right to end', async () => {
    const world = new World();
    const { sandboxId } = await world.machines.acquire(
      sandboxSpec({ attemptId: '', expiresAt: '2025-01-01T00:00:00Z' }),
    );
    for (let look = 0; look < 3; look += 1) {
      await reapSandboxes({}, world.ports);
      await world.clock.advance(5 * MINUTE);
    }
    expect(world.machines.held).toHaveLength(1);
    expect(await world.keysIn('sightings')).toEqual([]);
    const told = world.log.lines.filter(({ event }) => event !== 'function.started');
    expect(told).toMatchObject(
      Array.from({ length: 3 }, () => ({ event: 'sandbox.unattributed', fields: { sandboxId } })),
    );
  });

  it('leaves a machine that an open attempt uses', async () => {
    const world = new World();
    await runTo(world, 'run');
    for (let look = 0; look < 5; look += 1) {
      await reapSandboxes({}, world.ports);
      await world.clock.advance(5 * MINUTE);
    }
    expect(world.machines.held.length).toBe(1);
  });

  it('looks at all others when one provider or machine fails', async () => {
    const world = new World({
      machineFault: (when, act, subject) => {
        if (when === 'before' && act === 'release' && subject.startsWith(stuck)) throw new Error('not now');
      },
    });
    let stuck = 'none';
    const broken = new FakeMachines({ name: 'broken' });
    broken.list = async () => Promise.reject(new Error('no list'));
    const ports = { ...world.ports, providers: { ...world.ports.providers, all: () => [broken, world.machines] } };
    stuck = (await world.machines.acquire(sandboxSpec({ attemptId: 'one.1', clientToken: '1' }))).sandboxId;
    await world.machines.acquire(sandboxSpec({ attemptId: 'two.1', clientToken: '2' }));
    await expect(reapSandboxes({}, ports)).rejects.toThrow('no list');
    await world.clock.advance(5 * MINUTE);
    await expect(reapSandboxes({}, ports)).rejects.toThrow();
    expect(world.machines.held.map((sandbox) => sandbox.sandboxId)).toEqual([stuck]);
    expect(world.log.events.filter((event) => event === 'reap.failed').length).toBeGreaterThan(1);
  });

  it('settles an attempt whose machine and events are all dead, an hour after its sandbox ended', async () => {
    const world = new World({ script: () => ({ seconds: 1_000_000 }) });
    await runTo(world, 'await');
    await runAgent(waiting(world), world.ports);
    const { expiresAt } = await world.attempt(ATTEMPT);
    await world.clock.advance(Date.parse(expiresAt) - world.clock.now().getTime() + 59 * MINUTE);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held).toEqual([]);
    expect(world.log.events).toContain('attempt.overdue');
    expect((await world.unit(UNIT)).class).toBe('open');
    await world.clock.advance(2 * MINUTE);
    await reapSandboxes({}, world.ports);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'lost', attempts: 1 });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({ blame: 'platform' });
    expect(await world.keysIn('slots')).toEqual([]);
    expect(await world.keysIn('open-attempts')).toEqual([]);
  });
});
