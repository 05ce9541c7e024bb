import { expect, it } from 'vitest';
import type { CleanupMode } from '#core/cleanup-mode';
import { rowKeys } from '#core/keys';
import { TeardownRowSchema, type TeardownRow } from '#core/rows';
import type { MachineRecord, Part } from '#test/emulators/cloud/machine-record';
import { tier } from '#test/runner/tier';
import { CloudWorld } from './cloud-world.ts';

const HOUR = 3_600_000;
const STAGE_TAG = 'examhall:stage';

/** One unit to its end in a mode, and the reaper's rounds until long after its sandbox's time is over. */
async function through(cleanupMode: CleanupMode): Promise<CloudWorld> {
  const world = await CloudWorld.open();
  const request = await world.request('quick', { cleanupMode });
  await world.host.startSweep(request.sweepId, request.run).done;
  for (let hour = 0; hour < 8; hour += 1) await world.clock.elapse(HOUR);
  return world;
}

function left({ cloud }: CloudWorld): { readonly machine: MachineRecord; readonly parts: readonly Part[] } {
  const alive = [...cloud.machines.all.values()].filter(({ state }) => state !== 'terminated');
  const [machine, ...others] = alive;
  if (machine === undefined || others.length > 0) throw new Error(`${String(alive.length)} machines are left`);
  return { machine, parts: [...cloud.machines.volumes.values(), ...cloud.machines.interfaces.values()] };
}

/** What is left besides the machine and its parts: slots, timers, tokens and the like. */
async function otherLeftovers(world: CloudWorld): Promise<readonly string[]> {
  return (await world.leftovers()).filter((name) => !world.cloud.machines.held.includes(name));
}

async function ledger(world: CloudWorld): Promise<readonly TeardownRow[]> {
  const { unitId } = await world.unit();
  const { rows } = await world.store.query({ pk: rowKeys.teardown(`${unitId}.1`, '', '').pk, limit: 100 });
  return rows.map(({ body }) => TeardownRowSchema.parse(body));
}

async function detachedIds(world: CloudWorld): Promise<readonly string[]> {
  return (await world.store.query({ pk: rowKeys.detached('').pk, limit: 10 })).rows.map(({ sk }) => sk);
}

const ends = async (world: CloudWorld): Promise<unknown> =>
  Object.fromEntries((await ledger(world)).map(({ kind, end }) => [kind, end]));

tier('isolation')('one unit on EC2, by its cleanup mode', () => {
  it('delete leaves nothing', async () => {
    const world = await through('delete');
    expect(await world.leftovers()).toEqual([]);
    expect(new Set(Object.values((await ends(world)) as object))).toEqual(new Set(['gone']));
    expect(world.cloud.callsOf('ModifyInstanceAttribute')).toEqual([]);
    await world.close();
  }, 90_000);

  it.each([
    ['stop', 'stopped', 'stopped'],
    ['keep', 'running', 'kept'],
  ] as const)(
    '%s leaves the machine %s and ours, and no reaper ends it',
    async (mode, state, end) => {
      const world = await through(mode);
      expect((await world.unit()).class).toBe('scored');
      const { machine, parts } = left(world);
      expect([machine.state, machine.shutdownBehavior]).toEqual([state, 'stop']);
      expect(parts.map(({ instanceId }) => instanceId)).toEqual([machine.instanceId, machine.instanceId]);
      for (const { tags } of [machine, ...parts]) expect(tags.get(STAGE_TAG)).toBe('test');
      expect(await otherLeftovers(world)).toEqual([]);
      expect(await ends(world)).toMatchObject({ machine: end, intent: end, schedule: 'gone' });
      expect((await ledger(world)).find(({ kind }) => kind === 'machine')?.why).toContain(`cleanup mode ${mode}`);
      expect(world.cloud.callsOf('TerminateInstances')).toEqual([]);
      expect(await detachedIds(world)).toEqual([]);
      if (state === 'running') {
        // Its own timer shuts it down once its time is over.
        world.cloud.machines.lose(machine.instanceId, 'shutdown');
        await world.clock.elapse(HOUR);
        expect(left(world).machine.state).toBe('stopped');
      }
      await world.close();
    },
    90_000,
  );

  it('detach leaves the machine running and takes the tag that made it ours; nobody touches it again', async () => {
    const world = await through('detach');
    expect((await world.unit()).class).toBe('scored');
    const { machine, parts } = left(world);
    expect([machine.state, machine.shutdownBehavior]).toEqual(['running', 'stop']);
    expect(parts).toHaveLength(2);
    for (const { tags } of [machine, ...parts]) expect(tags.has(STAGE_TAG)).toBe(false);
    expect(await otherLeftovers(world)).toEqual([]);
    expect(await ends(world)).toMatchObject({ machine: 'detached', intent: 'detached', schedule: 'gone' });
    expect(world.cloud.callsOf('TerminateInstances')).toEqual([]);
    expect(await detachedIds(world)).toEqual([machine.instanceId]);
    world.cloud.machines.terminate(machine, { isHurried: true, reason: 'Client.UserInitiatedShutdown: by a person' });
    await world.clock.elapse(3 * HOUR);
    expect(await detachedIds(world)).toEqual([]);
    await world.close();
  }, 90_000);

  it('detach whose answer was lost is found done, since it may not be sent once more, and leaves the machine alone all the same', async () => {
    const world = await CloudWorld.open();
    world.cloud.faults.loseAnswers('DeleteTags');
    const request = await world.request('quick', { cleanupMode: 'detach' });
    await world.host.startSweep(request.sweepId, request.run).done;
    await world.clock.elapse(HOUR);
    expect(left(world).machine.state).toBe('running');
    expect(await ends(world)).toMatchObject({ machine: 'detached', schedule: 'gone' });
    expect(world.cloud.callsOf('TerminateInstances')).toEqual([]);
    expect(world.cloud.faults.pending).toEqual([]);
    await world.close();
  }, 90_000);
});
