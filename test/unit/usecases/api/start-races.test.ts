import { describe, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import { SweepRowSchema, type SweepRow } from '#core/rows';
import { acceptCommands } from '#usecases/accept-commands';
import { planSweep } from '#usecases/plan-sweep';
import { reportSweep } from '#usecases/report-sweep';
import type { RowWrite, UnitStore } from '#ports/unit-store';
import { ACCOUNT, API_POLICY, apiEvent, call, publishBoth, routeNamed, startBody } from '#test/builders/api-call';
import { World } from '#test/builders/world';

async function ready(): Promise<World> {
  const world = new World({ policy: API_POLICY });
  await publishBoth(world);
  return world;
}

async function sweepRow(world: World, sweepId: string): Promise<SweepRow> {
  return SweepRowSchema.parse((await world.store.get(rowKeys.sweep(sweepId)))?.body);
}

/** The store, with `meanwhile` done between the planner's last look at the sweep and its write of it. */
function racing(world: World, meanwhile: () => Promise<unknown>): UnitStore {
  let isDue = true;
  const opens = (write: RowWrite): boolean => 'put' in write && write.put.pk === 'active-sweeps';
  return {
    get: async (key) => await world.store.get(key),
    query: async (query) => await world.store.query(query),
    write: async (writes) => {
      if (isDue && writes.some(opens)) {
        isDue = false;
        await meanwhile();
      }
      await world.store.write(writes);
    },
  };
}

describe('what an owner says while a sweep is being planned', () => {
  it.each(['cancel', 'pause'] as const)('%s is not lost', async (verb) => {
    const world = await ready();
    const id = String((await call(world, 'startSweep', { body: startBody() }))['sweepId']);
    const { executionArn } = await sweepRow(world, id);
    const unitStore = racing(world, async () => await call(world, `${verb}Sweep`, { id }));
    await planSweep({ sweepId: id, run: 1 }, { ...world.ports, unitStore });
    const row = await sweepRow(world, id);
    expect(row).toMatchObject({ status: 'running', cancelled: verb === 'cancel', paused: verb === 'pause' });
    expect(row.executionArn).toBe(executionArn);
  });

  it('closes a sweep for good that it was cancelled before it was planned', async () => {
    const world = await ready();
    const id = String((await call(world, 'startSweep', { body: startBody() }))['sweepId']);
    const body = { ...(await sweepRow(world, id)), executionArn: null };
    await world.store.write([{ put: { ...rowKeys.sweep(id), body }, when: 'exists' }]);
    expect(await call(world, 'cancelSweep', { id })).toMatchObject({ status: 'closed' });
    const closed = await sweepRow(world, id);
    expect(await planSweep({ sweepId: id, run: 1 }, world.ports)).toMatchObject({ unitsToRun: 0 });
    await reportSweep({ sweepId: id, run: 1 }, world.ports);
    expect(await sweepRow(world, id)).toEqual(closed);
    expect(await world.keysIn('active-sweeps')).toEqual([]);
  });

  it('leaves units of a cancelled sweep that nobody began as not run', async () => {
    const world = await ready();
    const id = String((await call(world, 'startSweep', { body: startBody() }))['sweepId']);
    const { unitsToRun } = await planSweep({ sweepId: id, run: 1 }, world.ports);
    expect(unitsToRun).toBe(2);
    await call(world, 'cancelSweep', { id });
    await reportSweep({ sweepId: id, run: 1 }, world.ports);
    const detail = await call(world, 'getSweep', { id });
    expect(detail['ledger']).toMatchObject({ counts: { not_run: 2, lost: 0 }, notRun: { cancelled: 2 } });
  });
});

it('a key stands for its request under every session of one role', async () => {
  const world = await ready();
  const started = async (session: string): Promise<unknown> => {
    const event = apiEvent(routeNamed('startSweep'), { body: startBody(), headers: { 'Idempotency-Key': 'k1' } });
    const userArn = `arn:aws:sts::${ACCOUNT}:assumed-role/examhall-operator/${session}`;
    const asked = { ...event, requestContext: { requestId: 'r', identity: { userArn } } };
    const { statusCode, body } = await acceptCommands(asked, world.ports);
    expect(statusCode).toBe(202);
    return (JSON.parse(body) as { readonly sweepId: unknown }).sweepId;
  };
  expect(await started('aws-sdk-js-1764500009999')).toBe(await started('aws-sdk-js-1764500000000'));
});
