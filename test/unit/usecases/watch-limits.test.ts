import { describe, expect, it } from 'vitest';
import { jobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import {
  GUESTS_AT_ONCE,
  LATEST_SECONDS,
  MACHINES_AT_ONCE,
  MACHINES_WITHIN_SECONDS,
  MOST_JOBS,
  MOST_SANDBOXES,
  MOST_SILENT,
  SILENT_AT_ONCE,
} from '#usecases/watch-runs';
import { ATTEMPT } from '#test/builders/attempt-run';
import { counted, crowded, otherAttempt, pass } from '#test/builders/watch-crowd';
import type { World } from '#test/builders/world';

const MINE = jobId(ATTEMPT, 'run');
const AT = Date.parse('2025-12-31T00:00:00.000Z');
/** Due long ago, one after the other. */
const dueSince = (index: number): string => new Date(AT + index).toISOString();
const due = (index: number) => ({ lookAt: dueSince(index) });
const silent = (index: number) => ({ lookAt: dueSince(index), unreachableSince: dueSince(index) });
const runOf = (index: number): string => jobId(otherAttempt(index), 'run');

function asksOf(world: World, seconds: number) {
  const status = world.guest.status.bind(world.guest);
  const { seen, call } = counted(world, seconds, async (...[sandbox, id]: Parameters<typeof status>) => {
    if (id === MINE) return await status(sandbox, id);
    return { state: 'running' as const, startedAt: dueSince(0) };
  });
  world.guest.status = call;
  return seen;
}

/** Turns the job waits of the others into waits for their sandboxes. */
async function sandboxWaits(count: number): Promise<World> {
  const { world } = await crowded(count, { wait: (each) => ({ ...due(each), eventBy: null }) });
  for (let each = 0; each < count; each += 1) {
    const key = rowKeys.jobWait(runOf(each));
    const body = (await world.store.get(key))?.body;
    if (body === undefined) throw new Error('there is no wait');
    await world.store.write([
      { remove: key, when: 'any' },
      { put: { ...rowKeys.sandboxWait(otherAttempt(each)), body }, when: 'any' },
    ]);
  }
  return world;
}

async function cancelledSweep(world: World) {
  const { sweepId } = await world.attempt(ATTEMPT);
  const key = rowKeys.sweep(sweepId);
  return { ...key, body: { ...(await world.store.get(key))?.body, cancelled: true } };
}

describe('a pass of the watch over more than it asks at a time', () => {
  it('keeps places for guests that answer, however many are silent and wait longer', async () => {
    const { world } = await crowded(2 * MOST_JOBS, { wait: silent });
    await world.clock.advance(60_000);
    const seen = asksOf(world, 0);
    await pass(world);
    expect(seen.asked.length).toBe(MOST_SILENT + 1);
    expect(seen.asked).toContain(MINE);
  });

  it('asks those that wait longest, some at once, and the rest in the next pass', async () => {
    const { world } = await crowded(MOST_JOBS + 50, { wait: due });
    const seen = asksOf(world, 1);
    await pass(world);
    expect(seen.most).toBe(GUESTS_AT_ONCE);
    expect(new Set(seen.asked)).toEqual(new Set(Array.from({ length: MOST_JOBS }, (_, each) => runOf(each))));
    seen.asked.length = 0;
    await pass(world);
    expect(seen.asked.slice(0, 50)).toEqual(Array.from({ length: 50 }, (_, each) => runOf(MOST_JOBS + each)));
  });

  it('asks more of those that were silent at once, since each takes long', async () => {
    const { world } = await crowded(MOST_SILENT + 50, { wait: silent });
    const seen = asksOf(world, 1);
    await pass(world);
    expect(seen.most).toBe(SILENT_AT_ONCE);
    expect(seen.asked.length).toBe(MOST_SILENT);
  });

  it('asks those whose sandbox is not ready, some at once, and the rest in the next pass', async () => {
    const world = await sandboxWaits(MOST_SANDBOXES + 20);
    const { seen, call } = counted(world, 1, async () => ({ state: 'waiting', waitsFor: 'runner' }) as const);
    world.guest.readiness = call;
    const looked = async (): Promise<number> => {
      const waits = Array.from({ length: 20 }, async (_, each) => {
        const key = rowKeys.sandboxWait(otherAttempt(MOST_SANDBOXES + each));
        return (await world.store.get(key))?.body['lookAt'] !== dueSince(MOST_SANDBOXES + each);
      });
      return (await Promise.all(waits)).filter(Boolean).length;
    };
    await pass(world);
    expect([seen.most, seen.asked.length, await looked()]).toEqual([GUESTS_AT_ONCE, MOST_SANDBOXES, 0]);
    await pass(world);
    expect([seen.asked.length, await looked()]).toEqual([2 * MOST_SANDBOXES, 20]);
  });

  it('looks at the machines of all, some at once', async () => {
    const { world } = await crowded(MACHINES_AT_ONCE + 50, { wait: due });
    const { seen, call } = counted(world, 1, world.machines.describe.bind(world.machines));
    world.machines.describe = call;
    await pass(world);
    expect(seen.most).toBe(MACHINES_AT_ONCE);
    expect(seen.asked.length).toBe(MACHINES_AT_ONCE + 51);
  });
});

describe('a pass of the watch in which all takes long', () => {
  it('asks guests all the same when the beats took longer than asking may, and stops no agent so late', async () => {
    const { world } = await crowded(2, { wait: due });
    await world.store.write([{ put: await cancelledSweep(world), when: 'any' }]);
    const heartbeat = world.tokens.heartbeat.bind(world.tokens);
    world.tokens.heartbeat = counted(world, LATEST_SECONDS.stop + 1, heartbeat).call;
    const seen = asksOf(world, 0);
    await pass(world);
    expect(seen.asked).toEqual([runOf(0), runOf(1)]);
    expect(world.guest.acts.filter((act) => act.startsWith('stop '))).toEqual([]);
    world.tokens.heartbeat = heartbeat;
    await pass(world);
    expect(world.guest.acts.filter((act) => act.startsWith('stop '))).toContain(`stop ${MINE}`);
  });

  it('asks guests when machines took longer, and comes first in the next pass to those it did not come to', async () => {
    const { world } = await crowded(4 * MACHINES_AT_ONCE, { wait: due });
    const slow = counted(world, MACHINES_WITHIN_SECONDS / 2 + 1, world.machines.describe.bind(world.machines));
    world.machines.describe = slow.call;
    const seen = asksOf(world, 0);
    for (const first of [0, 2 * MACHINES_AT_ONCE]) {
      slow.seen.asked.length = 0;
      seen.asked.length = 0;
      expect(await pass(world)).toBeLessThan(LATEST_SECONDS.stop);
      expect(slow.seen.asked.length).toBe(2 * MACHINES_AT_ONCE);
      expect(seen.asked).toEqual(Array.from({ length: 2 * MACHINES_AT_ONCE }, (_, each) => runOf(first + each)));
    }
  });

  it('asks nobody later than its function has time for', async () => {
    const { world } = await crowded(2, { wait: due });
    const heartbeat = world.tokens.heartbeat.bind(world.tokens);
    world.tokens.heartbeat = counted(world, LATEST_SECONDS.guest + 1, heartbeat).call;
    const seen = asksOf(world, 0);
    await pass(world);
    expect(seen.asked).toEqual([]);
  });
});

describe('a look that fails by a fault of ours', () => {
  const lookAts = async (world: World, count: number): Promise<readonly unknown[]> =>
    await Promise.all(
      Array.from(
        { length: count },
        async (_, each) => (await world.store.get(rowKeys.jobWait(runOf(each))))?.body['lookAt'],
      ),
    );

  it('at a guest keeps no other job from its turn', async () => {
    const { world } = await crowded(MOST_JOBS, { wait: due });
    await world.clock.advance(61_000);
    const seen = asksOf(world, 0);
    const { status } = world.guest;
    world.guest.status = async (sandbox, id) => {
      const answer = await status(sandbox, id);
      if (id !== MINE) throw new Error('broken');
      return answer;
    };
    await expect(pass(world)).rejects.toThrow('broken');
    expect(seen.asked).not.toContain(MINE);
    await expect(pass(world)).rejects.toThrow('broken');
    expect(seen.asked).toContain(MINE);
  });

  it('at a machine puts its job behind the others too', async () => {
    const { world } = await crowded(3, { wait: due });
    const now = world.clock.now().toISOString();
    world.machines.describe = async () => await Promise.reject(new Error('broken'));
    await expect(pass(world)).rejects.toThrow('broken');
    expect(await lookAts(world, 3)).toEqual([now, now, now]);
  });

  it('does not bring one forward whose time has not come', async () => {
    const later = '2026-01-01T00:04:00.000Z';
    const { world } = await crowded(1, { wait: () => ({ lookAt: later }) });
    world.machines.describe = async () => await Promise.reject(new Error('broken'));
    await expect(pass(world)).rejects.toThrow('broken');
    expect(await lookAts(world, 1)).toEqual([later]);
  });

  it('keeps no other sandbox from its turn', async () => {
    const world = await sandboxWaits(MOST_SANDBOXES + 20);
    const last = otherAttempt(MOST_SANDBOXES + 19);
    const failing = new Set<string>();
    world.guest.readiness = async () => await Promise.reject(new Error('broken'));
    const read = world.store.get.bind(world.store);
    world.store.get = async (key) => {
      if (key.pk === rowKeys.attempt(last).pk && key.sk === rowKeys.attempt(last).sk) failing.add(last);
      return await read(key);
    };
    await expect(pass(world)).rejects.toThrow('broken');
    expect(failing.size).toBe(0);
    await expect(pass(world)).rejects.toThrow('broken');
    expect(failing.size).toBe(1);
  });
});
