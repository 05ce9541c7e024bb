import { describe, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import type { CleanupMode } from '#core/cleanup-mode';
import { withFate } from '#core/teardown';
import { planSweep } from '#usecases/plan-sweep';
import { provisionSandbox } from '#usecases/provision-sandbox';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { releaseSandbox } from '#usecases/release-sandbox';
import { abandonUnit } from '#usecases/steps/abandon';
import { expireSandbox } from '#usecases/expire-sandbox';
import { pageOfSandboxes } from '#usecases/steps/api-sandboxes';
import { teardownRows } from '#usecases/steps/teardown';
import { ATTEMPT, ids, runSteps, runTo, UNIT } from '#test/builders/attempt-run';
import { requestSweep } from '#test/builders/catalog';
import { World } from '#test/builders/world';

const HOUR = 3_600_000;
const LEFT = [
  ['stop', 'stopped'],
  ['keep', 'kept'],
  ['detach', 'detached'],
] as const;

const made = async (world: World) => await teardownRows(world.ports, ATTEMPT);

const listed = async (world: World) => (await pageOfSandboxes({}, world.ports)).items;

async function recorded(world: World): Promise<unknown> {
  const { runDir } = await world.attempt(ATTEMPT);
  const bytes = world.runTree.files.get(`${runDir ?? ''}/record.json`);
  return (JSON.parse(String(bytes)) as { readonly leftBehind?: unknown }).leftBehind;
}

describe('a sandbox that is left on purpose', () => {
  it.each(LEFT)('in mode %s is in the ledger and the record, with the reason', async (cleanupMode, end) => {
    const world = new World();
    await runTo(world, 'collect', { cleanupMode });
    const [sandbox] = world.machines.held;
    await runSteps(world, 'release', 'closeUnit');
    expect(world.machines.acts).toContain(`release ${sandbox?.sandboxId ?? ''} ${cleanupMode}`);
    const rows = await made(world);
    expect(rows.map((row) => [row.kind, row.end]).toSorted()).toEqual([
      ['intent', end],
      ['machine', end],
      ['schedule', 'gone'],
    ]);
    const machine = rows.find(({ kind }) => kind === 'machine');
    expect(machine?.why).toContain(`cleanup mode ${cleanupMode}`);
    expect(await recorded(world)).toEqual([
      { kind: 'machine', resourceId: sandbox?.sandboxId, end, why: machine?.why },
    ]);
    expect(await world.keysIn('slots')).toEqual([]);
    expect(await world.keysIn('open-attempts')).toEqual([]);
  });

  it('is gone in the ledger all the same when it was gone before it could be left', async () => {
    const world = new World();
    await runTo(world, 'collect', { cleanupMode: 'keep' });
    const { ports } = world;
    const [sandbox] = world.machines.held;
    world.machines.release = async (asked) => {
      await world.machines.lose(asked.sandboxId, null);
      return withFate(asked.resources, 'gone');
    };
    await releaseSandbox(ids, ports);
    expect(sandbox).toBeDefined();
    expect((await made(world)).map(({ end, why }) => [end, why])).toEqual(Array(3).fill(['gone', null]));
    await runSteps(world, 'gradeUnit', 'closeUnit');
    expect(await recorded(world)).toBeUndefined();
  });

  it.each(LEFT)(
    'in mode %s is left so by the reaper when the attempt was refused, and not deleted',
    async (cleanupMode, end) => {
      const world = new World();
      await runTo(world, 'collect', { cleanupMode });
      const { machines, ports, clock } = world;
      const release = machines.release.bind(machines);
      machines.release = async () => await Promise.reject(new Error('UnauthorizedOperation'));
      await expect(releaseSandbox(ids, ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
      await runSteps(world, 'gradeUnit', 'closeUnit');
      await expect(reapSandboxes({}, ports)).rejects.toThrow();
      machines.release = release;
      for (let pass = 0; pass < 3; pass += 1) {
        await reapSandboxes({}, ports);
        await clock.advance(301_000);
      }
      expect(machines.acts.filter((act) => act.startsWith('release ')).map((act) => act.split(' ').at(-1))).toEqual([
        cleanupMode,
      ]);
      expect((await made(world)).find(({ kind }) => kind === 'machine')?.end).toBe(end);
    },
  );

  it('is deleted at the end of its time when it could never be left as asked', async () => {
    const world = new World();
    await runTo(world, 'collect', { cleanupMode: 'keep' });
    const { machines, ports, clock } = world;
    const release = machines.release.bind(machines);
    machines.release = async (asked, mode) => {
      if (mode !== 'delete') throw new Error('UnauthorizedOperation');
      return await release(asked, mode);
    };
    await expect(releaseSandbox(ids, ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
    await runSteps(world, 'gradeUnit', 'closeUnit');
    await expect(reapSandboxes({}, ports)).rejects.toThrow();
    expect((await made(world)).find(({ kind }) => kind === 'machine')?.end).toBeNull();
    await clock.advance(Date.parse((await world.attempt(ATTEMPT)).expiresAt) - clock.now().getTime() + 1000);
    await reapSandboxes({}, ports);
    expect((await made(world)).find(({ kind }) => kind === 'machine')?.end).toBe('gone');
  });

  it.each<CleanupMode>(['stop', 'keep', 'detach'])(
    'in mode %s is not ended by anything that comes later: execution, timer, reaper',
    async (cleanupMode) => {
      const world = new World();
      await runTo(world, 'collect', { cleanupMode });
      await releaseSandbox(ids, world.ports);
      const acts = world.machines.acts.length;
      await abandonUnit(world.ports, { sweepId: 'first', unitId: UNIT, run: 1 }, 'the execution was stopped');
      await expireSandbox(ids, world.ports);
      for (let hour = 0; hour < 30; hour += 1) {
        await world.clock.advance(HOUR);
        await reapSandboxes({}, world.ports);
      }
      expect(world.machines.acts.slice(acts).filter((act) => act.startsWith('release'))).toEqual([]);
      expect((await made(world)).map(({ end }) => end)).not.toContain(null);
    },
  );

  it('is forgotten by the reaper once it is gone, when it was detached', async () => {
    const world = new World();
    await runTo(world, 'collect', { cleanupMode: 'detach' });
    const sandboxId = world.machines.held[0]?.sandboxId ?? '';
    await releaseSandbox(ids, world.ports);
    world.machines.states.set(sandboxId, { state: 'ready' });
    await reapSandboxes({}, world.ports);
    expect(await world.keysIn('detached')).toEqual([sandboxId]);
    world.machines.states.set(sandboxId, { state: 'gone', evidence: null });
    await reapSandboxes({}, world.ports);
    expect(await world.keysIn('detached')).toEqual([]);
    expect(world.machines.acts.filter((act) => act.startsWith('release'))).toEqual([`release ${sandboxId} detach`]);
  });

  it('is remembered while its provider has it, also when that has stopped a detached one: its disk is billed', async () => {
    const world = new World();
    await runTo(world, 'collect', { cleanupMode: 'detach' });
    const sandboxId = world.machines.held[0]?.sandboxId ?? '';
    await releaseSandbox(ids, world.ports);
    const evidence = 'Server.ScheduledStop: Stopped due to scheduled retirement';
    world.machines.states.set(sandboxId, { state: 'gone', evidence, isStillThere: true });
    await reapSandboxes({}, world.ports);
    expect(await world.keysIn('detached')).toEqual([sandboxId]);
    expect((await listed(world)).map(({ state }) => state)).toEqual(['stopped']);
    world.machines.states.set(sandboxId, { state: 'gone', evidence });
    await reapSandboxes({}, world.ports);
    expect(await world.keysIn('detached')).toEqual([]);
  });

  it('is remembered by itself when it is detached, and only then', async () => {
    for (const cleanupMode of ['keep', 'detach'] as const) {
      const world = new World();
      await runTo(world, 'collect', { cleanupMode });
      const [sandbox] = world.machines.held;
      await releaseSandbox(ids, world.ports);
      const names = cleanupMode === 'detach' ? [sandbox?.sandboxId] : [];
      expect(await world.keysIn(rowKeys.detached('').pk)).toEqual(names);
    }
  });
});

describe('a sandbox that was found to be ours no more', () => {
  it.each<CleanupMode>(['delete', 'stop', 'keep'])(
    'in mode %s is detached by its ledger, and told why',
    async (cleanupMode) => {
      const world = new World();
      await runTo(world, 'collect', { cleanupMode });
      const sandboxId = world.machines.held[0]?.sandboxId ?? '';
      world.machines.release = async ({ resources }) => withFate(resources, 'not-ours');
      world.machines.states.set(sandboxId, { state: 'ready' });
      await runSteps(world, 'release', 'closeUnit');
      const why: unknown = expect.stringContaining('found without the tag that makes it ours');
      expect((await made(world)).map((row) => [row.kind, row.end, row.why]).toSorted()).toEqual([
        ['intent', 'detached', why],
        ['machine', 'detached', why],
        ['schedule', 'gone', null],
      ]);
      expect(await recorded(world)).toEqual([{ kind: 'machine', resourceId: sandboxId, end: 'detached', why }]);
      expect(await world.keysIn('detached')).toEqual([sandboxId]);
      const entries = (await listed(world)).filter(({ owner }) => owner === 'detached');
      expect(entries).toMatchObject([{ sandboxId, state: 'ready', why }]);
      expect(await world.keysIn('slots')).toEqual([]);
      expect(await world.keysIn('open-attempts')).toEqual([]);
    },
  );

  it('by a detach that was cut off, without a handle, is detached by its ledger when it is tried again', async () => {
    let isCut = true;
    const world = new World({
      machineFault: (when, act) => {
        if (when === 'after' && act === 'acquire') throw new Error('the function was killed');
        if (when === 'after' && act === 'release' && isCut) world.store.write = kill;
      },
    });
    const write = world.store.write.bind(world.store);
    const kill = async (): Promise<void> => {
      throw new Error('the function was killed');
    };
    await runTo(world, 'admit', { cleanupMode: 'detach' });
    await expect(provisionSandbox(ids, world.ports)).rejects.toThrow('killed');
    const sandboxId = world.machines.held[0]?.sandboxId ?? '';
    await expect(releaseSandbox(ids, world.ports)).rejects.toThrow('killed');
    expect((await world.machines.list()).sandboxes).toEqual([]);
    isCut = false;
    world.store.write = write;
    await releaseSandbox(ids, world.ports);
    expect((await made(world)).map(({ kind, end }) => [kind, end]).toSorted()).toEqual([
      ['intent', 'detached'],
      ['machine', 'detached'],
      ['schedule', 'gone'],
    ]);
    expect(await world.keysIn('detached')).toEqual([sandboxId]);
  });

  it('leaves no trace of a detach when it was gone before that', async () => {
    const world = new World({
      machineFault: (when, act) => {
        if (when === 'after' && act === 'acquire') throw new Error('the function was killed');
      },
    });
    await runTo(world, 'admit', { cleanupMode: 'detach' });
    await expect(provisionSandbox(ids, world.ports)).rejects.toThrow('killed');
    const [sandbox] = world.machines.held;
    world.machines.states.set(sandbox?.sandboxId ?? '', { state: 'gone', evidence: null });
    world.machines.release = async ({ sandboxId }) => [{ kind: 'volume', resourceId: sandboxId, fate: 'gone' }];
    await releaseSandbox(ids, world.ports);
    expect(new Set((await made(world)).map(({ kind, end }) => `${kind} ${String(end)}`))).toEqual(
      new Set(['intent gone', 'volume gone', 'schedule gone']),
    );
    expect(await world.keysIn('detached')).toEqual([]);
  });
});

describe('a plan', () => {
  it('refuses a provider that cannot leave its machines as the sweep wants', async () => {
    const world = new World();
    const { tasks } = await requestSweep(world.artifacts, {});
    const snapshots = {
      '*': { provider: 'static', image: 'ale-ubuntu22', os: 'linux' as const, resolution: null, knobs: {} },
    };
    await requestSweep(world.artifacts, { tasks, snapshots, cleanupMode: 'stop' });
    await expect(planSweep({ sweepId: 'first', run: 1 }, world.ports)).rejects.toMatchObject({
      name: 'SandboxRefusedError',
      message: expect.stringContaining('cannot be asked for cleanup mode stop') as unknown,
    });
  });
});
