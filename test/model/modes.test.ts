import { describe, expect, it } from 'vitest';
import { CLEANUP_MODES } from '#core/cleanup-mode';
import { rowKeys } from '#core/keys';
import { TeardownRowSchema } from '#core/rows';
import { explain, wrongsOf } from './invariants.ts';
import { CALM } from './schedule.ts';
import { ModelWorld } from './world.ts';

/** What there is of a machine at once, and once its own time is over, and how its ledger calls it. */
const LEFT = {
  delete: { end: 'gone', soon: 'terminated', late: 'terminated', isDetached: false },
  stop: { end: 'stopped', soon: 'stopped', late: 'stopped', isDetached: false },
  keep: { end: 'kept', soon: 'running', late: 'stopped', isDetached: false },
  detach: { end: 'detached', soon: 'running', late: 'stopped', isDetached: true },
} as const;
const DAY_SECONDS = 24 * 3600;

describe('a sweep whose cleanup mode is', () => {
  it.each(CLEANUP_MODES)(
    '%s leaves what it asks for and nothing else, and says so',
    async (cleanupMode) => {
      const world = await ModelWorld.create({ ...CALM, units: 2, cleanupMode }, { deed: () => 'finishes' });
      const { end, soon, late, isDetached } = LEFT[cleanupMode];
      await (
        await world.start()
      ).done;
      const machines = [...world.cloud.machines.values()].filter(({ attemptId }) => attemptId !== null);
      expect(machines).toHaveLength(2);
      for (const state of [soon, late]) {
        expect(machines.map((machine) => world.cloud.stateOf(machine))).toEqual([state, state]);
        expect(machines.every((machine) => machine.isDetached === isDetached)).toBe(true);
        const wrongs = await wrongsOf(world);
        expect(wrongs, explain(world, wrongs)).toEqual([]);
        await world.clock.elapse(DAY_SECONDS * 1000);
      }
      for (const { attemptId, instanceId } of machines) {
        const rows = world.store.rowsIn(rowKeys.teardown(attemptId ?? '', '', '').pk);
        const machine = rows
          .map(({ body }) => TeardownRowSchema.parse(body))
          .find((row) => row.resourceId === instanceId);
        expect(machine).toMatchObject({ kind: 'machine', end });
        expect(machine?.why ?? '').toMatch(cleanupMode === 'delete' ? /^$/u : new RegExp(cleanupMode, 'u'));
      }
      world.host.close();
    },
    60_000,
  );
});
