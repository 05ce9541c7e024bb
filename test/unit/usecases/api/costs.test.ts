import { describe, expect, it } from 'vitest';
import { API_PROBLEMS } from '#core/api-status';
import { rowKeys } from '#core/keys';
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

const today = (world: World): string => world.clock.now().toISOString().slice(0, 10);

describe('costs', () => {
  it('are of the last thirty days unless told, grouped as asked', async () => {
    const probe = new World();
    const day = (back: number): string =>
      new Date(Date.parse(today(probe)) - back * 86_400_000).toISOString().slice(0, 10);
    const world = await withUsage(day(0), day(29), day(30));
    const costs = await call(world, 'getCosts', { role: 'finance', query: { groupBy: 'agent' } });
    expect(costs).toMatchObject({ groupBy: 'agent', from: day(29), to: day(0), total: { attempts: 2, knownUsd: 4 } });
    expect(costs['rows']).toMatchObject([{ key: 'scripted', attempts: 2 }]);
    const all = await call(world, 'getCosts', { query: { from: day(30), to: day(0), sweepId: 'sw-2' } });
    expect(all['rows']).toMatchObject([{ key: 'sw-2', attempts: 1 }]);
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
    const { store: unitStore } = await withUsage(...days);
    const ports = { unitStore, clock: new World().clock };
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
    [{ groupBy: 'colour' }],
    [{ format: 'xml' }],
  ])('of %o are refused', async (query) => {
    const world = await withUsage('2026-01-01');
    expect((await refusal(world, 'getCosts', { query })).status).toBe(400);
  });
});
