import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import { closeAttempt } from '#usecases/close-attempt';
import { closeUnit } from '#usecases/close-unit';
import { expireSandbox } from '#usecases/expire-sandbox';
import { provisionSandbox } from '#usecases/provision-sandbox';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { releaseSandbox } from '#usecases/release-sandbox';
import { runAgent } from '#usecases/run-agent';
import { isStillThere, teardownRows } from '#usecases/steps/teardown';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, failure, ids, runSteps, runTo, UNIT, waiting } from '#test/builders/attempt-run';
import { FakeMachines } from '#test/fakes/machines';
import { sandboxSpec } from '#test/fakes/sandbox';
import { World, type WorldOptions } from '#test/builders/world';

const MINUTE = 60_000;
const sandboxId = (world: World): string => world.machines.held[0]?.sandboxId ?? '';
const left = async (world: World) =>
  (await teardownRows(world.ports, ATTEMPT)).filter(isStillThere).map(({ kind }) => kind);

describe('provisioning', () => {
  it('writes its intent and sets the timer before anything is launched', async () => {
    const seen: unknown[] = [];
    const options: WorldOptions = {
      machineFault: (when, act) => {
        if (when === 'before' && act === 'acquire') {
          seen.push([...world.timers.pending.keys()]);
          throw new ExamHallError('CapacityUnavailableError', 'sold out');
        }
      },
    };
    const world: World = new World(options);
    await runTo(world, 'admit');
    await expect(provisionSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'CapacityUnavailableError' });
    expect(seen).toEqual([[`expire-${ATTEMPT}`]]);
    expect((await left(world)).toSorted()).toEqual(['intent', 'schedule']);
    await releaseSandbox(ids, world.ports);
    expect(await left(world)).toEqual([]);
    expect(world.timers.pending.size).toBe(0);
  });

  it('has begun before its run folder is there, so that a folder that was opened is recorded into', async () => {
    const world = new World();
    await runTo(world, 'admit');
    const { runTree } = world.ports;
    const open = runTree.open.bind(runTree);
    runTree.open = async (...place) => {
      await open(...place);
      throw new Error('the host was killed');
    };
    await expect(provisionSandbox(ids, world.ports)).rejects.toThrow('killed');
    const { stageStartedAt, runDir } = await world.attempt(ATTEMPT);
    expect(Object.keys(stageStartedAt)).toContain('provision');
    expect(runDir).toBeNull();
  });

  it('finds the machine again that it launched before it was cut off', async () => {
    let isCut = true;
    const world = new World({
      machineFault: (when, act) => {
        if (when === 'after' && act === 'acquire' && isCut) throw new Error('the function was killed');
      },
    });
    await runTo(world, 'admit');
    await expect(provisionSandbox(ids, world.ports)).rejects.toThrow('killed');
    expect((await world.attempt(ATTEMPT)).sandbox).toBeNull();
    isCut = false;
    await provisionSandbox(ids, world.ports);
    expect(world.machines.held.length).toBe(1);
    expect((await left(world)).toSorted()).toEqual(['intent', 'machine', 'schedule']);
  });

  it('that was cut off is released by asking the provider, with no handle stored', async () => {
    const world = new World({
      machineFault: (when, act) => {
        if (when === 'after' && act === 'acquire') throw new Error('the function was killed');
      },
    });
    await runTo(world, 'admit');
    await expect(provisionSandbox(ids, world.ports)).rejects.toThrow('killed');
    await releaseSandbox(ids, world.ports);
    expect(world.machines.held).toEqual([]);
    expect(await left(world)).toEqual([]);
  });

  it('that outlasted its state ends what it made itself', async () => {
    let onLaunch: () => Promise<void> = async () => undefined;
    const world = new World();
    const acquire = world.machines.acquire.bind(world.machines);
    world.machines.acquire = async (spec) => {
      await onLaunch();
      return await acquire(spec);
    };
    await runTo(world, 'admit');
    onLaunch = async () => {
      await releaseSandbox(ids, world.ports);
    };
    await expect(provisionSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ProvisionFailedError' });
    expect(world.machines.held).toEqual([]);
    expect(await left(world)).toEqual([]);
  });
});

describe('a release', () => {
  it('that leaves something fails by name, and goes on when it is tried again', async () => {
    const world = new World();
    await runTo(world, 'collect');
    world.machines.stubborn.set(sandboxId(world), 1);
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({
      name: 'ReleaseFailedError',
      message: expect.stringContaining('machine') as string,
    });
    expect(world.timers.pending.size).toBe(1);
    expect((await left(world)).toSorted()).toEqual(['intent', 'machine', 'schedule']);
    await releaseSandbox(ids, world.ports);
    expect(await left(world)).toEqual([]);
    expect(world.timers.pending.size).toBe(0);
  });

  it('that never worked holds the unit open until the reaper has done it', async () => {
    const world = new World();
    await runTo(world, 'collect');
    world.machines.stubborn.set(sandboxId(world), 2);
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
    await runSteps(world, 'gradeUnit', 'close');
    const token = world.newToken();
    await closeUnit({ sweepId: 'first', run: 1, unitId: UNIT, error: null, token }, world.ports);
    await reapSandboxes({}, world.ports);
    expect(world.tokens.answers.has(token)).toBe(false);
    await reapSandboxes({}, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    expect(world.machines.held).toEqual([]);
    expect(world.timers.pending.size).toBe(0);
    expect(await world.keysIn('open-attempts')).toEqual([]);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5 });
  });

  it.each(['stop', 'keep'] as const)(
    'in mode %s leaves the machine, and no reaper ever takes it',
    async (cleanupMode) => {
      const world = new World();
      await runTo(world, 'collect', { cleanupMode });
      await runSteps(world, 'release', 'closeUnit');
      expect(world.machines.held.length).toBe(1);
      expect(await world.keysIn('open-attempts')).toEqual([]);
      for (let hour = 0; hour < 48; hour += 1) {
        await world.clock.advance(60 * MINUTE);
        await reapSandboxes({}, world.ports);
      }
      expect(world.machines.held.length).toBe(1);
      expect(world.timers.pending.size).toBe(0);
    },
  );

  it('that keeps a machine keeps it also while its unit goes on with another attempt', async () => {
    const world = new World();
    await runTo(world, 'collect', { cleanupMode: 'keep' });
    await runSteps(world, 'release', 'close');
    expect(await world.keysIn('open-attempts')).toEqual([ATTEMPT]);
    for (let hour = 0; hour < 12; hour += 1) {
      await world.clock.advance(60 * MINUTE);
      await reapSandboxes({}, world.ports);
    }
    expect(world.machines.held.length).toBe(1);
  });
});

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

  it.each(['', 'no-attempt-id', 'x.0'])('ends a machine that is tagged %j too', async (attemptId) => {
    const world = new World();
    await world.machines.acquire(sandboxSpec({ attemptId }));
    for (let look = 0; look < 3; look += 1) {
      await reapSandboxes({}, world.ports);
      await world.clock.advance(5 * MINUTE);
    }
    expect(world.machines.held).toEqual([]);
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

describe('the timer of a sandbox', () => {
  it('ends it alone, and the agent is not blamed for that', async () => {
    const world = new World({ script: () => ({ seconds: 1_000_000 }) });
    await runTo(world, 'await');
    const payload = waiting(world);
    await runAgent(payload, world.ports);
    await expireSandbox({ attemptId: ATTEMPT }, world.ports);
    expect(world.machines.held).toEqual([]);
    expect(await left(world)).toEqual([]);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(payload.token)).toMatchObject({ error: 'SandboxLostError' });
    const error = failure('SandboxLostError', 'RunAgent');
    expect(await closeAttempt({ ...ids, error }, world.ports)).toMatchObject({ retry: true });
  });

  it('is tried again while something is left', async () => {
    const world = new World();
    await runTo(world, 'run');
    world.machines.stubborn.set(sandboxId(world), 1);
    await expect(expireSandbox({ attemptId: ATTEMPT }, world.ports)).rejects.toMatchObject({
      name: 'ReleaseFailedError',
    });
    await expireSandbox({ attemptId: ATTEMPT }, world.ports);
    expect(world.machines.held).toEqual([]);
  });

  it('lets a unit close that waited for nothing else', async () => {
    const world = new World();
    await runTo(world, 'collect');
    world.machines.stubborn.set(sandboxId(world), 1);
    await expect(releaseSandbox(ids, world.ports)).rejects.toThrow();
    await runSteps(world, 'gradeUnit', 'close');
    const token = world.newToken();
    await closeUnit({ sweepId: 'first', run: 1, unitId: UNIT, error: null, token }, world.ports);
    await expireSandbox({ attemptId: ATTEMPT }, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    expect(await world.keysIn(rowKeys.closeWait('').pk)).toEqual([]);
  });
});
