import { describe, expect, it } from 'vitest';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { World } from '#test/builders/world';
import { sandboxSpec } from '#test/fakes/sandbox';

const MINUTE = 60_000;

/** What the reaper says of a machine whose time ended so long ago. */
async function saidAfter(minutes: number, expiresAt?: string): Promise<readonly string[]> {
  const world = new World();
  const end = new Date(world.clock.now().getTime() - minutes * MINUTE).toISOString();
  await world.machines.acquire(sandboxSpec({ attemptId: 'u.1', expiresAt: expiresAt ?? end }));
  await reapSandboxes({}, world.ports);
  return world.log.events.filter((event) => event.startsWith('sandbox.'));
}

describe('a machine that is still there', () => {
  it('a little after its time is ended, and nobody is told', async () => {
    expect(await saidAfter(1)).toEqual(['sandbox.reaped']);
  });

  it('a quarter of an hour after its time is ended and told of: its timer and every reaper before have failed', async () => {
    expect(await saidAfter(15)).toEqual(['sandbox.overdue', 'sandbox.reaped']);
  });

  it('without a time that can be read is no such machine', async () => {
    expect(await saidAfter(15, 'whenever')).toEqual(['sandbox.orphan-seen']);
  });
});
