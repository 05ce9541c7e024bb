import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROLES } from '#core/policy';
import { compileTask } from '#local/publish/compile-task';
import { openServedApi } from '#test/builders/served-api';
import { SWEEP_NAME, type Target } from './hostile-requests.ts';

/*
 * A program that serves the API with a token for each role over a sweep that has run, until it is ended. Prints a `Target`
 * as one line of JSON. What lies in references and solutions begins with `canary-`.
 */
const TASK: Readonly<Record<string, string>> = {
  'task_card.json': '{ "title": "Copy", "vm": { "snapshot": "cpu-free-ubuntu", "timeout": 600 } }',
  'task.ts': `import type { EvaluateContext, LoadContext } from '#sdk';
export const load = ({ paths }: LoadContext) => [{ name: 'base', prompt: 'Write to ' + paths('base').output }];
export const evaluate = async ({ output }: EvaluateContext) => ((await output.exists('x.txt')) ? 1 : 0);`,
  'solution.ts': `console.log('canary-solution');`,
  'input/base/in.txt': 'something to read',
  'reference/base/x.txt': 'canary-reference',
};

const sweep = {
  name: 'another',
  costCenter: 'local',
  agents: [{ agentId: 'nop', model: 'm', config: { a: [1, 'two', { three: null }] } }],
  tasks: [{ path: 'outside/copy', variants: [0] }],
  trials: 1,
  snapshots: { '*': { provider: 'noop', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } },
  limits: { concurrency: 1, maxAttempts: 1, budgetUsd: 5, agentConcurrency: { nop: 1 } },
  promptSuffix: '',
  dryRun: true,
};

async function serveRoles(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'examhall-roles-'));
  for (const [name, text] of Object.entries(TASK)) {
    const file = path.join(folder, 'outside/copy', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const api = await openServedApi([folder], { timeouts: { headers: 1_500, request: 3_000, checking: 100 } });
  const end = async (): Promise<void> => {
    await api.close();
    await rm(folder, { recursive: true, force: true });
    process.exit(0);
  };
  process.once('SIGTERM', () => void end());
  const { modules: runner, bundlesDir: cacheDir } = api.serving.session;
  const { uploads: _, ...offer } = await compileTask(path.join(folder, 'outside/copy'), { runner, cacheDir });
  const started = await api.call('operator', 'POST', '/sweeps', {
    ...sweep,
    name: SWEEP_NAME,
    agents: [{ agentId: 'nop' }],
    limits: { concurrency: 1 },
    dryRun: false,
  });
  const { sweepId } = started.json as { sweepId: string };
  const said: Target = {
    port: api.port,
    tokens: Object.fromEntries([...ROLES, 'nobody' as const].map((caller) => [caller, api.tokenOf(caller)])),
    sweepId,
    unitId: await closedUnit(sweepId, api.call),
    bodies: [sweep, offer],
    folder: api.folder,
  };
  process.stdout.write(`${JSON.stringify(said)}\n`);
}

async function closedUnit(sweepId: string, call: Awaited<ReturnType<typeof openServedApi>>['call']): Promise<string> {
  for (;;) {
    const { json } = await call('viewer', 'GET', `/sweeps/${sweepId}`);
    if ((json as { status: string }).status === 'closed') break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const { json } = await call('viewer', 'GET', `/sweeps/${sweepId}/units`);
  return (json as { items: readonly { unitId: string }[] }).items[0]?.unitId ?? '';
}

await serveRoles();
