import { describe, expect, it } from 'vitest';
import { taskManifestKey } from '#core/catalog';
import { objectKeys, rowKeys } from '#core/keys';
import { UnitPlanItem } from '#contracts/payloads';
import { planSweep } from '#usecases/plan-sweep';
import { ATTEMPT, runTo, UNIT } from '#test/builders/attempt-run';
import { publishFakeTask, requestSweep, type RequestOptions, type TaskOptions } from '#test/builders/catalog';
import { World } from '#test/builders/world';

async function tasksOf(world: World, options: TaskOptions, path = 'demo/copy'): Promise<RequestOptions> {
  const task = await publishFakeTask(world.artifacts, options);
  return { tasks: [{ path, manifestKey: taskManifestKey(task), variants: [0] }] };
}

describe('a plan', () => {
  it('has a line and a row for each agent, task, variant and trial', async () => {
    const world = new World();
    const options = await tasksOf(world, {});
    const tasks = options.tasks?.map((task) => ({ ...task, variants: [0, 1] })) ?? [];
    const { items } = await world.plan({ tasks, trials: 3 });
    expect(items.length).toBe(6);
    for (const item of items) {
      expect(UnitPlanItem.parse(item)).toEqual(item);
      expect(await world.unit(item.unitId)).toMatchObject({ class: 'open', run: 1 });
    }
    expect(new Set(items.map(({ unitId }) => unitId)).size).toBe(6);
    expect((await world.store.get(rowKeys.sweep('first')))?.body['plannedUnits']).toBe(6);
  });

  it('of more units than a transaction holds is written whole', async () => {
    const world = new World();
    const { items } = await world.plan({ trials: 250 });
    expect(items.length).toBe(250);
    expect((await world.unit(`${UNIT}__t250`)).trial).toBe(250);
  });

  it('made twice is the same plan', async () => {
    const world = new World();
    const { items } = await world.plan({ trials: 3 });
    const again = await planSweep({ sweepId: 'first', run: 1 }, world.ports);
    expect(await world.planItems('first', 1)).toEqual(items);
    expect(again).toEqual({ unitsToRun: 3, planKey: objectKeys.plan('first', 1), maxConcurrency: 1000 });
    expect((await world.keysIn('sweep#first')).length).toBe(4);
  });

  it('keeps a cancellation that came before its repeat, and forgets one of an earlier run', async () => {
    const world = new World();
    await world.plan();
    const body = { ...(await world.store.get(rowKeys.sweep('first')))?.body, cancelled: true };
    await world.store.write([{ put: { ...rowKeys.sweep('first'), body }, when: 'any' }]);
    await planSweep({ sweepId: 'first', run: 1 }, world.ports);
    expect((await world.store.get(rowKeys.sweep('first')))?.body['cancelled']).toBe(true);
    await world.plan({ run: 2 });
    expect((await world.store.get(rowKeys.sweep('first')))?.body['cancelled']).toBe(false);
  });

  it('grades on the agent’s own sandbox where the card says so', async () => {
    const world = new World();
    const { items } = await world.plan(await tasksOf(world, { gradingMode: 'same-sandbox' }));
    expect(items.map(({ gradesOnOwnSandbox }) => gradesOnOwnSandbox)).toEqual([true]);
  });
});

describe('a second run', () => {
  it('skips what is finished, in its class', async () => {
    const world = new World();
    await runTo(world, 'closeUnit');
    const before = await world.unit(UNIT);
    const { items } = await world.plan({ run: 2 });
    expect(items).toEqual([]);
    expect(await world.unit(UNIT)).toEqual({ ...before, run: 2 });
    expect(await planSweep({ sweepId: 'first', run: 2 }, world.ports)).toMatchObject({ unitsToRun: 0 });
  });

  it('skips what the run tree alone remembers', async () => {
    const world = new World();
    await runTo(world, 'closeUnit');
    await world.store.write([{ remove: rowKeys.unit('first', UNIT), when: 'exists' }]);
    const { items } = await world.plan({ run: 2 });
    expect(items).toEqual([]);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5, status: 'completed', run: 2 });
  });

  it('repeats all when told not to resume, with new attempts', async () => {
    const world = new World();
    await runTo(world, 'closeUnit');
    const { items } = await world.plan({ run: 2, autoResume: false });
    expect(items.map(({ firstAttempt }) => firstAttempt)).toEqual([2]);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'open', score: null, winningAttemptId: null, attempts: 1 });
  });

  it('repeats a unit whose task has changed', async () => {
    const world = new World();
    await runTo(world, 'closeUnit');
    const { items } = await world.plan({ run: 2, ...(await tasksOf(world, { vm: { timeout: 700 } })) });
    expect(items.length).toBe(1);
  });

  it('counts on from an attempt that no row of the unit was told of', async () => {
    const world = new World();
    await runTo(world, 'run');
    expect((await world.unit(UNIT)).attempts).toBe(0);
    expect((await world.attempt(ATTEMPT)).attempt).toBe(1);
    const { items } = await world.plan({ run: 2 });
    expect(items.map(({ firstAttempt }) => firstAttempt)).toEqual([2]);
  });
});

describe('a plan is refused', () => {
  it.each([
    ['off', 'off'],
    ['sealed', 'sealed'],
    ['allowlist', 'allowlist'],
  ])('when a card asks for the network "%s", which does not exist yet', async (mode, named) => {
    const world = new World();
    const options = await tasksOf(world, { vm: { network: { mode, allow: [] } } });
    await expect(world.plan(options)).rejects.toMatchObject({
      name: 'SandboxRefusedError',
      message: expect.stringMatching(
        new RegExp(`demo/copy cannot be run: network "${named}" is not available`, 'u'),
      ) as string,
    });
    expect(await world.keysIn('sweep#first')).toEqual([]);
  });

  it('when the sweep asks for such a network', async () => {
    await expect(new World().plan({ network: 'sealed' })).rejects.toMatchObject({ name: 'SandboxRefusedError' });
  });

  it.each([169_200, 169_201])('when EC2 could not hear of its end: an agent of %d s', async (seconds) => {
    const world = new World();
    const options = await tasksOf(world, { vm: { timeout: seconds } });
    const aws = { provider: 'aws', image: 'i', os: 'linux', resolution: null, knobs: {} } as const;
    const planned = world.plan({ ...options, snapshots: { '*': aws } });
    if (seconds <= 169_200) expect((await planned).items).toHaveLength(1);
    else await expect(planned).rejects.toMatchObject({ name: 'SandboxRefusedError' });
  });

  it('when two units would have one id and folder', async () => {
    const world = new World();
    const request = await requestSweep(world.artifacts);
    const agents = request.agents.flatMap((agent) => [agent, { ...agent, id: 'SCRIPTED' }]);
    await expect(world.plan({ agents })).rejects.toMatchObject({
      name: 'DuplicateUnitError',
      message: expect.stringContaining('agent SCRIPTED') as string,
    });
  });

  it('when they are far apart in the plan', async () => {
    const world = new World();
    const request = await requestSweep(world.artifacts);
    const agents = request.agents.flatMap((agent) => [agent, { ...agent, id: 'SCRIPTED' }]);
    await expect(world.plan({ agents, trials: 150 })).rejects.toMatchObject({ name: 'DuplicateUnitError' });
  });

  it.each([
    ['UnknownVariantError', { tasks: [7] }],
    ['TaskCardError', { card: true }],
    ['SandboxRefusedError', { snapshots: {} }],
    ['UnknownTaskError', { taskKey: 'tasks/none/manifest.json' }],
    ['UnknownAgentError', { agentKey: 'agents/none/manifest.json' }],
  ])(
    'with %s',
    async (
      name,
      wrong: { tasks?: number[]; card?: boolean; snapshots?: object; taskKey?: string; agentKey?: string },
    ) => {
      const world = new World();
      const request = await requestSweep(world.artifacts);
      const published = wrong.card === true ? await tasksOf(world, { vm: { snapshot: 7 } }) : { tasks: request.tasks };
      const tasks = (published.tasks ?? []).map((task) => ({
        ...task,
        variants: wrong.tasks ?? task.variants,
        manifestKey: wrong.taskKey ?? task.manifestKey,
      }));
      const agents = request.agents.map((agent) => ({ ...agent, manifestKey: wrong.agentKey ?? agent.manifestKey }));
      const snapshots = wrong.snapshots === undefined ? request.snapshots : {};
      await expect(world.plan({ tasks, agents, snapshots })).rejects.toMatchObject({ name });
      expect(await world.keysIn('active-sweeps')).toEqual([]);
    },
  );

  it('when nobody stored its request, or one of another shape', async () => {
    const world = new World();
    await expect(planSweep({ sweepId: 'none', run: 1 }, world.ports)).rejects.toMatchObject({
      name: 'InvalidRequestError',
    });
    await expect(world.plan({ sweepId: 'not a sweep id' })).rejects.toMatchObject({ name: 'InvalidRequestError' });
    await expect(world.plan({ limits: { maxAttempts: 4 } })).rejects.toMatchObject({ name: 'InvalidRequestError' });
  });

  it('takes a snapshot by its own tag before the one for all, also when that is called like a method', async () => {
    const world = new World();
    const route = { provider: 'noop', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } as const;
    const snapshots = { '*': route, 'cpu-free-ubuntu': { ...route, provider: 'aws' } };
    await world.plan({ snapshots });
    expect((await world.unit(UNIT)).provider).toBe('aws');
    await world.plan({
      run: 2,
      snapshots: { '*': route },
      ...(await tasksOf(world, { vm: { snapshot: 'constructor' } })),
    });
    expect((await world.unit(UNIT)).provider).toBe('noop');
  });
});
