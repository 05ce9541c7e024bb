import { describe, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import { ROLE_PERMISSIONS, ROLES, type Permission } from '#core/policy';
import { API_ROUTES } from '#contracts/api-routes';
import { COMMANDS } from '#usecases/accept-commands';
import { QUERIES } from '#usecases/answer-queries';
import { ATTEMPT, runTo, UNIT } from '#test/builders/attempt-run';
import { answer, API_POLICY, apiEvent, call, publishBoth, refusal, startBody } from '#test/builders/api-call';
import { World } from '#test/builders/world';

/** What each role may do, written out by hand: the table in the code is not its own judge. */
const ALLOWED: Readonly<Record<(typeof ROLES)[number] | 'nobody', readonly Permission[]>> = {
  viewer: ['read'],
  finance: ['read', 'readCosts'],
  operator: ['read', 'control'],
  publisher: ['read', 'publish'],
  admin: ['read', 'readCosts', 'control', 'publish'],
  nobody: [],
};

const CALLERS = [...ROLES, 'nobody'] as const;
const CELLS = API_ROUTES.flatMap((route) => CALLERS.map((role) => [route.operationId, role, route] as const));

describe('the matrix of routes and roles', () => {
  it('is whole: every role has its permissions, every route one permission and its function’s operation', () => {
    expect(CELLS.length).toBe(API_ROUTES.length * 6);
    expect(API_ROUTES.length).toBeGreaterThanOrEqual(17);
    for (const role of ROLES) expect([...ROLE_PERMISSIONS[role]].sort()).toEqual([...ALLOWED[role]].sort());
    for (const name of ['answer-queries', 'accept-commands'] as const) {
      const operations: Readonly<Record<string, unknown>> = name === 'answer-queries' ? QUERIES : COMMANDS;
      const routed = API_ROUTES.filter((route) => route.function === name).map(({ operationId }) => operationId);
      expect(Object.keys(operations).sort()).toEqual([...routed].sort());
    }
  });

  it('has a changing route nowhere among those that only read', () => {
    for (const { method, permission, function: name } of API_ROUTES) {
      expect(name === 'answer-queries').toBe(method === 'GET');
      expect(permission === 'read' || permission === 'readCosts').toBe(method === 'GET');
    }
  });

  it.each(CELLS)('%s by %s', async (operationId, role, route) => {
    const world = new World({ policy: API_POLICY });
    const id = route.path.includes('unitId') ? 'sw-1__a__m__d__t__v0' : 'sw-1';
    const { statusCode } = await answer(world, route, apiEvent(route, { role, id }));
    if (ALLOWED[role].includes(route.permission)) expect([200, 202, 400, 404]).toContain(statusCode);
    else {
      expect(await refusal(world, operationId, { role, id })).toMatchObject({ status: 403, code: 'AccessDeniedError' });
    }
  });

  it('reads the schemas of its routes by the very schemas that the table names', () => {
    for (const route of API_ROUTES) {
      const operation = { ...QUERIES, ...COMMANDS }[route.operationId];
      expect(operation?.query, route.operationId).toBe(route.query);
      expect(operation?.body, route.operationId).toBe(route.body);
    }
  });
});

const QUERY_ROUTES = API_ROUTES.filter(({ method }) => method === 'GET').map(
  (route) => [route.operationId, route] as const,
);

describe('amounts', () => {
  it('are seen by finance and admin; a budget also by who may set one; by a viewer and a publisher never', async () => {
    const world = new World({ policy: API_POLICY });
    await publishBoth(world);
    const started = await call(world, 'startSweep', { role: 'operator', body: startBody({}, { budgetUsd: 4321.5 }) });
    expect(started['largestCostUsd']).toBeNull();
    const id = String(started['sweepId']);
    const seen = {
      viewer: [null, null],
      publisher: [null, null],
      operator: [4321.5, null],
      finance: [4321.5, 0],
      admin: [4321.5, 0],
    };
    for (const role of ROLES) {
      const detail = await call(world, 'getSweep', { role, id });
      const { items } = (await call(world, 'listSweeps', { role })) as { items: Record<string, unknown>[] };
      for (const each of [detail, items[0]]) expect([each?.['budgetUsd'], each?.['spentUsd']]).toEqual(seen[role]);
    }
    expect((await refusal(world, 'getCosts', { role: 'viewer' })).status).toBe(403);
  });

  it.each(QUERY_ROUTES)('%s tells a viewer and a publisher none of a sweep that was paid for', async (_name, route) => {
    const world = new World({ policy: API_POLICY });
    await publishBoth(world);
    await runTo(world, 'closeUnit', { limits: { budgetUsd: 777123.25 } });
    const paid = { spentUsd: 777124.5, largestAttemptUsd: 777125.5 };
    const body = { ...(await world.store.get(rowKeys.sweep('first')))?.body, ...paid };
    await world.store.write([{ put: { ...rowKeys.sweep('first'), body }, when: 'any' }]);
    await world.changeAttempt(ATTEMPT, { cost: [{ part: 'machine', basis: 'estimated', usd: 777126.5, note: null }] });
    const id = route.path.includes('unitId') ? UNIT : 'first';
    for (const role of ['viewer', 'publisher'] as const) {
      const answered = await answer(world, route, apiEvent(route, { role, id }));
      expect(answered.statusCode).toBe(route.permission === 'readCosts' ? 403 : 200);
      expect(answered.body).not.toMatch(/77712\d/u);
    }
    expect((await answer(world, route, apiEvent(route, { role: 'admin', id }))).statusCode).toBe(200);
  });
});
