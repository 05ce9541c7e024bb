import { afterEach, describe, expect, it } from 'vitest';
import { apiChecks } from '#cli/remote/deploy-check-api';
import { clientOf, problem, startFakeApi, type FakeApi } from './fake-api.ts';

describe('looking at an API', () => {
  const open: FakeApi[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map(async (api) => await api.close()));
  });

  it('tells what the caller may read, and what there is, without changing anything', async () => {
    const api = await startFakeApi({
      listSweeps: () => ({ items: [], cursor: null }),
      getCosts: () => problem(403, 'AccessDeniedError'),
      listAgents: () => ({ items: [], cursor: null }),
      listTasks: () => ({ items: [], cursor: null }),
    });
    open.push(api);
    const checks = await apiChecks(clientOf(api));
    expect(checks.map(({ name, state }) => [name, state])).toEqual([
      ['api', 'pass'],
      ['role: costs', 'warn'],
      ['role: control, publish', 'unverified'],
      ['published', 'warn'],
    ]);
    expect(api.requests.every((request) => request.startsWith('GET '))).toBe(true);
  });

  it('ends with an API that does not let the caller in', async () => {
    const api = await startFakeApi({ listSweeps: () => problem(403, 'AccessDeniedError') });
    open.push(api);
    expect(await apiChecks(clientOf(api))).toMatchObject([{ name: 'api', state: 'fail' }]);
  });
});
