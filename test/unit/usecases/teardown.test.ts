import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import { isStillThere } from '#core/teardown';
import { closeAttempt } from '#usecases/close-attempt';
import { closeUnit } from '#usecases/close-unit';
import { expireSandbox } from '#usecases/expire-sandbox';
import { provisionSandbox } from '#usecases/provision-sandbox';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { releaseSandbox } from '#usecases/release-sandbox';
import { runAgent } from '#usecases/run-agent';
import { teardownRows } from '#usecases/steps/teardown';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, failure, ids, runSteps, runTo, UNIT, waiting } from '#test/builders/attempt-run';
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

  it('that was cut off before its stage had ended ends it when it is tried again, with the machine it had', async () => {
    const world = new World();
    await runTo(world, 'admit');
    const write = world.store.write.bind(world.store);
    let isCut = false;
    world.store.write = async (writes) => {
      if (isCut) throw new Error('the function was killed');
      isCut = JSON.stringify(writes).includes('"sandboxId"');
      await write(writes);
    };
    await expect(provisionSandbox(ids, world.ports)).rejects.toThrow('killed');
    world.store.write = write;
    expect((await world.attempt(ATTEMPT)).stageEndedAt['provision']).toBeUndefined();
    await provisionSandbox(ids, world.ports);
    await provisionSandbox(ids, world.ports);
    expect((await world.attempt(ATTEMPT)).stageEndedAt['provision']).toBeDefined();
    expect(world.machines.acts.filter((act) => act.startsWith('acquire')).length).toBe(1);
    const { runDir } = await world.attempt(ATTEMPT);
    const told = world.runTree.text(`${String(runDir)}/events.jsonl`).split('provision_done').length - 1;
    expect(told).toBe(1);
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

  it('that fails for one of its machines goes on with the others, and names the one', async () => {
    const world = new World({
      machineFault: (when, act, subject) => {
        if (when === 'before' && act === 'release' && subject.startsWith(stuck)) throw new Error('not now');
      },
    });
    let stuck = 'none';
    await runTo(world, 'admit');
    const made = [1, 2, 3].map((each) => sandboxSpec({ attemptId: ATTEMPT, clientToken: String(each) }));
    const [first] = await Promise.all(made.map(async (spec) => await world.machines.acquire(spec)));
    stuck = first?.sandboxId ?? '';
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({
      name: 'ReleaseFailedError',
      message: expect.stringContaining(
        `sandboxes of ${ATTEMPT} could not be released: ${stuck} (Error: not now). The reaper tries again`,
      ) as string,
      details: { attemptId: ATTEMPT },
    });
    expect(world.machines.held.map((sandbox) => sandbox.sandboxId)).toEqual([stuck]);
    stuck = 'none';
    await releaseSandbox(ids, world.ports);
    expect(world.machines.held).toEqual([]);
    expect(await left(world)).toEqual([]);
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
