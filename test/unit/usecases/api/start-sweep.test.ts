import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { objectKeys, rowKeys } from '#core/keys';
import { SweepRequestSchema } from '#contracts/sweep-request';
import { planSweep } from '#usecases/plan-sweep';
import { API_POLICY, arnOf, call, publishBoth, refusal, startBody } from '#test/builders/api-call';
import { World } from '#test/builders/world';

async function ready(): Promise<World> {
  const world = new World({ policy: API_POLICY });
  await publishBoth(world);
  return world;
}

describe('a start', () => {
  it('answers with the pinned revisions, and leaves a request, a row and a machine of the sweep’s own name', async () => {
    const world = await ready();
    const started = await call(world, 'startSweep', { role: 'operator', body: startBody() });
    expect(started).toMatchObject({ dryRun: false, plannedUnits: 2, largestCostUsd: null, warnings: [] });
    const sweepId = String(started['sweepId']);
    const bytes = await world.artifacts.get({ bucket: 'artifacts', key: objectKeys.request(sweepId, 1) });
    const request = SweepRequestSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
    expect(request).toMatchObject({
      owner: arnOf('operator'),
      costCenter: 'research',
      treeDir: sweepId,
      autoResume: false,
    });
    expect(request.tasks).toMatchObject([{ path: 'demo/copy', variants: [0, 1] }]);
    const row = (await world.store.get(rowKeys.sweep(sweepId)))?.body;
    expect(row).toMatchObject({ status: 'accepted', owner: arnOf('operator'), spentUsd: 0 });
    expect(row?.['executionArn']).not.toBeNull();
    expect([...world.executions.started]).toEqual([
      [`${sweepId}-r1`, { machine: 'sweep', input: { sweepId, run: 1 } }],
    ]);
  });

  it('is planned from what it wrote, below a folder of its own', async () => {
    const world = await ready();
    const { sweepId } = await call(world, 'startSweep', { body: startBody() });
    await planSweep({ sweepId: String(sweepId), run: 1 }, world.ports);
    const items = await world.planItems(String(sweepId), 1);
    expect(items.length).toBe(2);
    const unit = await world.unit(items[0]?.unitId ?? '', String(sweepId));
    expect(unit.unitDir.startsWith(`${String(sweepId)}/`)).toBe(true);
  });

  it('that is dry writes and starts nothing', async () => {
    const world = await ready();
    const before = await world.keysIn('sweeps');
    const answered = await call(world, 'startSweep', { body: startBody({ dryRun: true }) });
    expect(answered).toMatchObject({ sweepId: null, dryRun: true, plannedUnits: 2, largestCostUsd: 0 });
    expect(await world.keysIn('sweeps')).toEqual(before);
    expect(world.executions.started.size).toBe(0);
  });

  it('with everything wrong is refused once, with every problem', async () => {
    const world = await ready();
    const body = startBody(
      {
        costCenter: 'marketing',
        agents: [{ agentId: 'scripted', revision: `sha256:${'0'.repeat(64)}` }, { agentId: 'nobody' }],
        tasks: [{ path: 'demo/none' }, { path: 'demo/copy', variants: [7] }],
        snapshots: { '*': { provider: 'aws', image: 'what', os: 'linux', resolution: 'big', knobs: { colour: 1 } } },
        network: 'sealed',
      },
      { concurrency: 9, budgetUsd: 0, deadlineSeconds: 5, agentConcurrency: { other: 1 } },
    );
    const problem = await refusal(world, 'startSweep', { body });
    expect(problem).toMatchObject({ status: 422, code: 'RequestRefusedError' });
    expect(problem.problems.map(({ path }) => path).sort()).toEqual([
      'body.agents[0].revision',
      'body.agents[1].agentId',
      'body.costCenter',
      'body.limits.agentConcurrency.other',
      'body.limits.budgetUsd',
      'body.limits.concurrency',
      'body.limits.deadlineSeconds',
      'body.network',
      'body.snapshots.*.image',
      'body.snapshots.*.knobs.colour',
      'body.snapshots.*.knobs.region',
      'body.snapshots.*.knobs.zones',
      'body.snapshots.*.provider',
      'body.snapshots.*.resolution',
      'body.tasks[0].path',
      'body.tasks[1].variants',
    ]);
    expect(await world.keysIn('sweeps')).toEqual([]);
  });
});

describe('an idempotency key', () => {
  const headers = { 'Idempotency-Key': 'once' };

  it('with the same body is the same sweep, and starts it only once', async () => {
    const world = await ready();
    const first = await call(world, 'startSweep', { body: startBody(), headers });
    const second = await call(world, 'startSweep', { body: startBody(), headers });
    expect(second).toEqual(first);
    expect(world.executions.started.size).toBe(1);
    expect((await world.keysIn('sweeps')).length).toBe(1);
  });

  it('with another body is refused, and with another principal is another request', async () => {
    const world = await ready();
    await call(world, 'startSweep', { role: 'operator', body: startBody(), headers });
    const problem = await refusal(world, 'startSweep', { role: 'operator', body: startBody({ trials: 2 }), headers });
    expect(problem).toMatchObject({ status: 409, code: 'IdempotencyConflictError' });
    await call(world, 'startSweep', { role: 'admin', body: startBody({ trials: 2 }), headers });
    expect((await world.keysIn('sweeps')).length).toBe(2);
  });

  it('is free again after a day', async () => {
    const world = await ready();
    const first = await call(world, 'startSweep', { body: startBody(), headers });
    await world.clock.advance(24 * 3600 * 1000);
    const second = await call(world, 'startSweep', { body: startBody({ trials: 2 }), headers });
    expect(second['sweepId']).not.toBe(first['sweepId']);
  });

  it('that comes five times at once starts one sweep', async () => {
    const world = await ready();
    const asked = Array.from(
      { length: 5 },
      async () => await call(world, 'startSweep', { body: startBody(), headers }),
    );
    const ids = new Set((await Promise.all(asked)).map(({ sweepId }) => sweepId));
    expect(ids.size).toBe(1);
    expect(world.executions.started.size).toBe(1);
    expect((await world.keysIn('sweeps')).length).toBe(1);
  });

  it('makes good a start that was cut off', async () => {
    const world = await ready();
    const { start } = world.executions;
    world.executions.start = () => Promise.reject(new ExamHallError('StoreUnavailableError', 'cut off'));
    expect((await refusal(world, 'startSweep', { body: startBody(), headers })).status).toBe(503);
    world.executions.start = start;
    const { sweepId } = await call(world, 'startSweep', { body: startBody(), headers });
    expect([...world.executions.started.keys()]).toEqual([`${String(sweepId)}-r1`]);
    expect(await world.keysIn('sweeps')).toEqual([sweepId]);
  });

  it('is not used up by a dry run', async () => {
    const world = await ready();
    await call(world, 'startSweep', { body: startBody({ dryRun: true }), headers });
    expect((await call(world, 'startSweep', { body: startBody(), headers }))['sweepId']).not.toBeNull();
  });
});

describe('a start that was cut off', () => {
  it('leaves a sweep that can be cancelled, and is closed with that', async () => {
    const world = await ready();
    world.executions.start = () => Promise.reject(new ExamHallError('StoreUnavailableError', 'cut off'));
    await refusal(world, 'startSweep', { body: startBody() });
    const [id = ''] = await world.keysIn('sweeps');
    expect(await call(world, 'cancelSweep', { id })).toMatchObject({ status: 'closed', cancelled: true });
  });
});
