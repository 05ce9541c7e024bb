import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { rowKeys } from '#core/keys';
import { AdmitWaitSchema, EMPTY_COUNTERS, SlotCountersSchema } from '#core/rows';
import { admitUnit } from '#usecases/admit-unit';
import { grantSlots } from '#usecases/grant-slots';
import { freeSlot } from '#usecases/steps/slots';
import { taskManifestKey } from '#core/catalog';
import { publishFakeTask, type RequestOptions } from '#test/builders/catalog';
import { World } from '#test/builders/world';

/** A world in which every planned unit waits. */
async function waiting(
  options: RequestOptions = {},
): Promise<{ readonly world: World; readonly units: readonly string[] }> {
  const world = new World();
  const units = await ask(world, { trials: 3, ...options });
  return { world, units };
}

async function ask(world: World, options: RequestOptions): Promise<readonly string[]> {
  const { items } = await world.plan(options);
  for (const { sweepId, run, unitId } of items)
    await admitUnit({ sweepId, run, unitId, attempt: 1, token: `token of ${unitId}` }, world.ports);
  return items.map(({ unitId }) => unitId);
}

const countersOf = async (world: World) =>
  SlotCountersSchema.parse((await world.store.get(rowKeys.slotCounters()))?.body ?? EMPTY_COUNTERS);

describe('grant-slots', () => {
  it('grants up to the concurrency, with slot, attempt and token in one go', async () => {
    const { world, units } = await waiting({ limits: { concurrency: 2 } });
    await grantSlots({}, world.ports);
    const granted = units.slice(0, 2);
    expect([...world.tokens.answers]).toEqual(
      granted.map((unit) => [`token of ${unit}`, { output: { attemptId: `${unit}.1` } }]),
    );
    expect(await world.keysIn('slots')).toEqual(granted.map((unit) => `${unit}.1`));
    expect(await world.keysIn('open-attempts')).toEqual(granted.map((unit) => `${unit}.1`));
    expect((await countersOf(world)).bySweep).toEqual({ first: 2 });
    expect(await world.keysIn(rowKeys.admitWait('first', '').pk)).toEqual([units[2]]);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(2);
  });

  it('grants the next when a slot is given back', async () => {
    const { world, units } = await waiting({ limits: { concurrency: 1 } });
    await grantSlots({}, world.ports);
    await freeSlot(world.ports, `${units[0] ?? ''}.1`);
    await grantSlots({ sweepId: 'first' }, world.ports);
    expect(await world.keysIn('slots')).toEqual([`${units[1] ?? ''}.1`]);
  });

  it('keeps within the cap of an agent, though its units are first in line', async () => {
    const { world } = await waiting({ limits: { concurrency: 9, agentConcurrency: { scripted: 1 } } });
    await grantSlots({ sweepId: 'first' }, world.ports);
    expect((await world.keysIn('slots')).length).toBe(1);
  });

  it.each([
    ['DeadlinePassedError', { limits: { deadlineAt: '2025-01-01T00:00:00.000Z' } }],
    [
      'BudgetExhaustedError',
      {
        limits: { budgetUsd: 10 },
        snapshots: { '*': { provider: 'aws', image: 'i', os: 'linux', resolution: null, knobs: {} } },
      },
    ],
  ] as const)('refuses with %s what cannot start any more', async (error, options) => {
    const { world, units } = await waiting(options);
    await grantSlots({}, world.ports);
    expect([...world.tokens.answers.values()]).toEqual(units.map(() => expect.objectContaining({ error }) as unknown));
    expect(await world.keysIn(rowKeys.admitWait('first', '').pk)).toEqual([]);
    expect(await world.keysIn('slots')).toEqual([]);
  });

  it('lets a budget stand for machines nobody bills, until it is spent', async () => {
    const { world } = await waiting({ limits: { budgetUsd: 10 } });
    await grantSlots({}, world.ports);
    expect((await world.keysIn('slots')).length).toBe(3);
    const spent = await waiting({ limits: { budgetUsd: 10 } });
    await change(spent.world, { spentUsd: 10 });
    await grantSlots({}, spent.world.ports);
    expect([...spent.world.tokens.answers.values()]).toMatchObject(
      spent.units.map(() => ({ error: 'BudgetExhaustedError' })),
    );
  });

  it('grants nothing to a paused sweep and refuses a cancelled one', async () => {
    const { world } = await waiting();
    await change(world, { paused: true });
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(0);
    await change(world, { paused: false, cancelled: true });
    await grantSlots({}, world.ports);
    expect(
      [...world.tokens.answers.values()].every((answer) => 'error' in answer && answer.error === 'SweepCancelledError'),
    ).toBe(true);
  });

  it('asks to be run again after a full pass', async () => {
    const { world } = await waiting({ trials: 60, limits: { concurrency: 100 } });
    world.events.published.length = 0;
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(50);
    expect(world.events.published).toContainEqual({ detailType: 'sweep.changed', detail: {} });
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(60);
  });

  it('gives two sweeps their turns', async () => {
    const world = new World();
    await ask(world, { trials: 40, limits: { concurrency: 100 } });
    await ask(world, { sweepId: 'second', trials: 40, limits: { concurrency: 100 } });
    await grantSlots({}, world.ports);
    expect((await countersOf(world)).bySweep).toEqual({ first: 25, second: 25 });
  });
});

describe('a grant', () => {
  it('whose token could not be sent is sent again', async () => {
    const { world, units } = await waiting({ trials: 1 });
    world.tokens.failNext(new ExamHallError('StoreUnavailableError', 'no answer'));
    await expect(grantSlots({}, world.ports)).rejects.toThrow('no answer');
    expect(world.log.events).toContain('grant.failed');
    expect(world.tokens.answers.size).toBe(0);
    await grantSlots({}, world.ports);
    expect([...world.tokens.answers.values()]).toEqual([{ output: { attemptId: `${units[0] ?? ''}.1` } }]);
    expect((await countersOf(world)).bySweep).toEqual({ first: 1 });
  });

  it('that fails keeps no other from its turn', async () => {
    const { world, units } = await waiting();
    const [first = '', ...others] = units;
    await world.store.write([
      { put: { ...rowKeys.attempt(`${first}.1`), body: { not: 'an attempt' } }, when: 'absent' },
    ]);
    await expect(grantSlots({}, world.ports)).rejects.toThrow(/ConditionFailed|wants the row absent/u);
    expect([...world.tokens.answers.keys()]).toEqual(others.map((unit) => `token of ${unit}`));
    expect((await countersOf(world)).bySweep).toEqual({ first: 2 });
  });

  it('goes to the token the unit waits with now, not to the one it gave up', async () => {
    const { world, units } = await waiting({ trials: 1 });
    const [unitId = ''] = units;
    const store = world.ports.unitStore;
    let isFirst = true;
    const racing = {
      ...world.ports,
      unitStore: {
        get: async (key: Parameters<typeof store.get>[0]) => await store.get(key),
        query: async (query: Parameters<typeof store.query>[0]) => {
          const page = await store.query(query);
          if (query.pk === rowKeys.admitWait('first', '').pk && isFirst) {
            isFirst = false;
            await admitUnit({ sweepId: 'first', run: 1, unitId, attempt: 1, token: 'newer' }, world.ports);
          }
          return page;
        },
        write: async (writes: Parameters<typeof store.write>[0]) => await store.write(writes),
      },
    };
    await grantSlots({}, racing);
    expect([...world.tokens.answers]).toEqual([['newer', { output: { attemptId: `${unitId}.1` } }]]);
    expect(await world.keysIn(rowKeys.admitWait('first', '').pk)).toEqual([]);
  });

  it('is kept by a unit that asks again, and takes no second slot', async () => {
    const { world, units } = await waiting({ trials: 1 });
    const [unitId = ''] = units;
    await grantSlots({}, world.ports);
    const again = { sweepId: 'first', run: 1, unitId, attempt: 1, token: 'again' };
    await admitUnit(again, world.ports);
    const wait = AdmitWaitSchema.parse((await world.store.get(rowKeys.admitWait('first', unitId)))?.body);
    expect(wait.grantedAttemptId).toBe(`${unitId}.1`);
    // As when the grant came between the reading of the slot and the writing of the wait.
    await world.store.write([
      { put: { ...rowKeys.admitWait('first', unitId), body: { ...wait, grantedAttemptId: null } }, when: 'any' },
    ]);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.get('again')).toEqual({ output: { attemptId: `${unitId}.1` } });
    expect((await countersOf(world)).bySweep).toEqual({ first: 1 });
  });

  it('counts beside the slot of an earlier attempt, whose machine may still be there', async () => {
    const { world, units } = await waiting({ trials: 1 });
    const [unitId = ''] = units;
    await grantSlots({}, world.ports);
    await admitUnit({ sweepId: 'first', run: 1, unitId, attempt: 2, token: 'second' }, world.ports);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.get('second')).toEqual({ output: { attemptId: `${unitId}.2` } });
    expect((await countersOf(world)).bySweep).toEqual({ first: 2 });
  });

  it('is not made to a unit that was closed meanwhile', async () => {
    const { world, units } = await waiting({ trials: 1 });
    const [unitId = ''] = units;
    const body = { ...(await world.unit(unitId)), closedAt: '2026-01-01T00:00:00.000Z' };
    await world.store.write([{ put: { ...rowKeys.unit('first', unitId), body }, when: 'any' }]);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(0);
    expect(await world.keysIn('slots')).toEqual([]);
    expect(await world.keysIn(rowKeys.admitWait('first', '').pk)).toEqual([]);
  });

  it('counts the vCPUs its card asks for', async () => {
    const world = new World();
    const task = await publishFakeTask(world.artifacts, { vm: { vcpus: 6 } });
    await ask(world, { tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0, 1] }] });
    await grantSlots({}, world.ports);
    expect((await countersOf(world)).vCpusByProvider).toEqual({ noop: 12 });
  });
});

async function change(world: World, changes: Readonly<Record<string, unknown>>): Promise<void> {
  const row = await world.store.get(rowKeys.sweep('first'));
  await world.store.write([{ put: { ...rowKeys.sweep('first'), body: { ...row?.body, ...changes } }, when: 'exists' }]);
}
