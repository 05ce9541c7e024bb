import type { ApiClient } from './api-client.ts';
import { fail, pass, unverified, warn, type DeployCheck } from './deploy-check.ts';
import { RemoteError } from './remote-error.ts';

type Finding = Omit<DeployCheck, 'name'>;

/** Whether the API answers, what the caller may read, and what has been published. Nothing is changed. */
export async function apiChecks(client: ApiClient): Promise<readonly DeployCheck[]> {
  const { host } = client.baseUrl;
  const reading = await finding(async () => {
    await client.call('listSweeps', { query: { limit: 1 } });
    return pass(`${host} answers, and you may read`);
  });
  const api = { name: 'api', ...reading };
  if (reading.state !== 'pass') return [api];
  const costs = await finding(async () => {
    await client.call('getCosts', {});
    return pass('you may see costs');
  }, 'roles finance and admin see costs');
  const control = unverified(
    'starting, steering and publishing are not tried',
    'try `examhall run <experiment.yaml> --dry-run`',
  );
  const published = await finding(async () => {
    const { items: agents } = await client.call('listAgents', { query: { limit: 1 } });
    const { items: tasks } = await client.call('listTasks', { query: { limit: 1 } });
    if (agents.length > 0 && tasks.length > 0) return pass('there are agents and tasks');
    const what = [agents.length === 0 ? 'agents' : '', tasks.length === 0 ? 'tasks' : '']
      .filter((each) => each !== '')
      .join(' and no ');
    return warn(`there are no ${what}`, '`examhall tasks publish` and `examhall agents publish` bring some');
  });
  return [
    api,
    { name: 'role: costs', ...costs },
    { name: 'role: control, publish', ...control },
    { name: 'published', ...published },
  ];
}

async function finding(ask: () => Promise<Finding>, whenRefused: string | null = null): Promise<Finding> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const [first = '', ...rest] = error.message.split('\n');
    if (error.status === 403 && whenRefused !== null) return warn('you may not', whenRefused);
    return fail(first, rest.join(' ').trim() || 'see above');
  }
}
