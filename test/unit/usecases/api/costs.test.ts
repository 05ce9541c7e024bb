import { describe, expect, it } from 'vitest';
import { API_PROBLEMS } from '#core/api-status';
import { rowKeys } from '#core/keys';
import { SweepRowSchema } from '#core/rows';
import { UsageRowSchema } from '#core/usage-row';
import { answer, API_POLICY, apiEvent, call, refusal, routeNamed } from '#test/builders/api-call';
import { World } from '#test/builders/world';
import { costsReply } from '#usecases/steps/api-costs';

async function withUsage(...days: readonly string[]): Promise<World> {
  const world = new World({ policy: API_POLICY });
  for (const [at, day] of days.entries()) {
    const attemptId = `sw-${String(at)}__a__m__d__t__v0.1`;
    const body = UsageRowSchema.parse({
      attemptId,
      unitId: attemptId.slice(0, -2),
      sweepId: `sw-${String(at)}`,
      agentId: 'scripted',
      model: null,
      taskPath: 'demo/copy',
      owner: 'arn:x',
      costCenter: 'research',
      blame: 'agent',
      provider: 'noop',
      machineType: null,
      closedAt: `${day}T10:00:00.000Z`,
      priceSheet: null,
      cost: [{ part: 'machine', basis: 'observed', usd: 2, note: null }],
    });
    await world.store.write([{ put: { ...rowKeys.usage(day, attemptId), body }, when: 'any' }]);
  }
  return world;
}

/** A sweep that was created so many days ago. */
async function addSweep(world: World, sweepId: string, daysAgo: number): Promise<void> {
  const createdAt = `${dayBack(world, daysAgo)}T08:00:00.000Z`;
  const body = SweepRowSchema.parse({
    sweepId,
    run: 1,
    name: sweepId,
    status: 'closed',
    cancelled: false,
    paused: false,
    deadlineAt: createdAt,
    concurrency: 1,
    agentConcurrency: {},
    budgetUsd: null,
    spentUsd: 0,
    plannedUnits: 1,
    requestKey: 'r',
    createdAt,
    closedAt: null,
    executionArn: null,
  });
  await world.store.write([{ put: { ...rowKeys.sweep(sweepId), body }, when: 'absent' }]);
}

function dayBack(world: World, days: number): string {
  return new Date(Date.parse(today(world)) - days * 86_400_000).toISOString().slice(0, 10);
}

const today = (world: World): string => world.clock.now().toISOString().slice(0, 10);

describe('costs', () => {
  it('are of the last thirty days unless told, grouped as asked', async () => {
    const probe = new World();
    const day = (back: number): string => dayBack(probe, back);
    const world = await withUsage(day(0), day(29), day(30));
    const costs = await call(world, 'getCosts', { role: 'finance', query: { groupBy: 'agent' } });
    expect(costs).toMatchObject({ groupBy: 'agent', from: day(29), to: day(0), total: { attempts: 2, knownUsd: 4 } });
    expect(costs['rows']).toMatchObject([{ key: 'scripted', attempts: 2 }]);
    const all = await call(world, 'getCosts', { query: { from: day(30), to: day(0) } });
    expect(all['total']).toMatchObject({ attempts: 3 });
  });

  it.each([
    [3, 3, 0],
    [90, 90, 0],
    [500, 500, 101],
  ])('of a sweep of %i days ago are of all days since, up to four hundred', async (age, first, last) => {
    const probe = new World();
    const world = await withUsage(dayBack(probe, age), dayBack(probe, age - 1));
    await addSweep(world, 'sw-0', age);
    const costs = await call(world, 'getCosts', { query: { sweepId: 'sw-0' } });
    expect(costs).toMatchObject({ from: dayBack(world, first), to: dayBack(world, last) });
    expect(costs['rows']).toMatchObject([{ key: 'sw-0', attempts: 1, knownUsd: 2 }]);
  });

  it('of a sweep whose attempts are open yet have no share that is known', async () => {
    const world = new World({ policy: API_POLICY });
    await addSweep(world, 'sw-0', 1);
    const costs = await call(world, 'getCosts', { query: { sweepId: 'sw-0' } });
    expect(costs).toMatchObject({ rows: [], total: { attempts: 0, knownUsd: 0, coverage: null } });
  });

  it('of a sweep that is not there are no costs, but an answer that says so', async () => {
    const world = await withUsage('2026-01-01');
    expect(await refusal(world, 'getCosts', { query: { sweepId: 'nope' } })).toMatchObject({ status: 404 });
  });

  it('come as CSV too', async () => {
    const world = await withUsage('2026-01-01');
    const route = routeNamed('getCosts');
    const query = { format: 'csv', from: '2026-01-01', to: '2026-01-02' };
    const { statusCode, headers, body } = await answer(world, route, apiEvent(route, { role: 'finance', query }));
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(body.split('\r\n')[1]).toContain('sw-0');
  });

  it('of more attempts than are read for one answer are refused, with what to do', async () => {
    const days = ['2026-01-01', '2026-01-02', '2026-01-03'];
    const world = await withUsage(...days);
    await addSweep(world, 'sw-0', 1);
    const ports = { unitStore: world.store, clock: world.clock };
    const asked = { groupBy: 'sweep', format: 'json', from: '2026-01-01', to: '2026-01-03' } as const;
    expect((await costsReply(asked, ports, 3)).body).toMatchObject({ total: { attempts: 3 } });
    const refused = costsReply({ ...asked, sweepId: 'sw-0' }, ports, 2);
    await expect(refused).rejects.toMatchObject({ name: 'RequestRefusedError', problems: [{ path: 'query.to' }] });
    await expect(refused).rejects.toThrow(/2 closed attempts were read .* 2026-01-03 has more; .*narrow the days/u);
    expect(API_PROBLEMS.RequestRefusedError.status).toBe(422);
  });

  it.each([
    [{ from: '2026-02-01', to: '2026-01-01' }],
    [{ from: '2024-01-01', to: '2026-01-01' }],
    [{ from: '2026-02-30' }],
    [{ from: '0001-01-01' }],
    [{ to: '0000-01-01' }],
    [{ from: '0000-01-01', to: '0000-01-05' }],
    [{ to: '1999-12-31' }],
    [{ from: '9999-12-01', to: '9999-12-31' }],
    [{ groupBy: 'colour' }],
    [{ format: 'xml' }],
  ])('of %o are refused', async (query) => {
    const world = await withUsage('2026-01-01');
    expect((await refusal(world, 'getCosts', { query })).status).toBe(400);
  });

  it.each(['2000-01-01', '2999-12-31'])('up to %s are answered in days of four digits', async (to) => {
    const world = await withUsage('2026-01-01');
    const days = await call(world, 'getCosts', { query: { to } });
    expect(days).toMatchObject({ to, from: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/u) as unknown });
  });
});
