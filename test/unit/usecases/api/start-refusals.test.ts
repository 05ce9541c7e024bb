import { describe, expect, it } from 'vitest';
import { objectKeys, rowKeys } from '#core/keys';
import { taskManifestKey } from '#core/catalog';
import { PublishedTaskRowSchema } from '#core/catalog-rows';
import { API_POLICY, call, publishBoth, refusal, startBody } from '#test/builders/api-call';
import type { TaskOptions } from '#test/builders/catalog';
import { World } from '#test/builders/world';

async function ready(options: TaskOptions = {}, caps: Partial<(typeof API_POLICY)['caps']> = {}): Promise<World> {
  const world = new World({ policy: { ...API_POLICY, caps: { ...API_POLICY.caps, ...caps } } });
  await publishBoth(world, options);
  return world;
}

const noop = { provider: 'noop', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} };

/** What is wrong, the request, where it says so, and in which words. */
const REFUSED: readonly (readonly [string, object, string, RegExp])[] = [
  [
    'an unknown agent',
    startBody({ agents: [{ agentId: 'codx' }] }),
    'body.agents[0].agentId',
    /no published agent codx/u,
  ],
  [
    'an unknown revision of an agent',
    startBody({ agents: [{ agentId: 'scripted', revision: `sha256:${'0'.repeat(64)}` }] }),
    'body.agents[0].revision',
    /no published revision/u,
  ],
  [
    'a task nobody published',
    startBody({ tasks: [{ path: 'demo/none' }] }),
    'body.tasks[0].path',
    /demo\/none is not published/u,
  ],
  [
    'an unknown revision of a task',
    startBody({ tasks: [{ path: 'demo/copy', revision: `sha256:${'0'.repeat(64)}` }] }),
    'body.tasks[0].revision',
    /no published data of revision/u,
  ],
  [
    'an unknown variant',
    startBody({ tasks: [{ path: 'demo/copy', variants: [0, 2] }] }),
    'body.tasks[0].variants',
    /no variant 2; allowed: 0 to 1/u,
  ],
  [
    'a variant twice',
    startBody({ tasks: [{ path: 'demo/copy', variants: [1, 1] }] }),
    'body.tasks[0].variants',
    /variant 1 of demo\/copy is named twice/u,
  ],
  [
    'units that are the same',
    startBody({ agents: [{ agentId: 'scripted' }, { id: 'Scripted', agentId: 'scripted' }] }),
    'body',
    /makes the same units/u,
  ],
  [
    'a task twice',
    startBody({
      tasks: [
        { path: 'demo/copy', variants: [0] },
        { path: 'demo/copy', variants: [1] },
      ],
    }),
    'body',
    /makes the same units/u,
  ],
  ['more units than the cap', startBody({ trials: 21 }), 'body', /42 units are over the deployment's cap of 40/u],
  [
    'concurrency over the cap',
    startBody({}, { concurrency: 9 }),
    'body.limits.concurrency',
    /9 is over the deployment's cap of 8/u,
  ],
  ['a zero budget', startBody({}, { budgetUsd: 0 }), 'body.limits.budgetUsd', /0 USD would start nothing/u],
  ['a negative budget', startBody({}, { budgetUsd: -5 }), 'body.limits.budgetUsd', /-5 USD would start nothing/u],
  [
    'a cost center that is not allowed',
    startBody({ costCenter: 'marketing' }),
    'body.costCenter',
    /allowed: local, research/u,
  ],
  [
    'a deadline that no unit can meet',
    startBody({}, { deadlineSeconds: 59 }),
    'body.limits.deadlineSeconds',
    /at least 60/u,
  ],
  [
    'a wall time over the longest',
    startBody({}, { wallTimeSeconds: 2_592_001 }),
    'body.limits.wallTimeSeconds',
    /at most 2592000/u,
  ],
  [
    'a provider this host has not',
    startBody({
      snapshots: {
        '*': { ...noop, provider: 'gcloud', knobs: { project: 'p', service_account_key: 'k', zones: ['z'] } },
      },
    }),
    'body.snapshots.*.provider',
    /gcloud/u,
  ],
  [
    'a snapshot tag without a route',
    startBody({ snapshots: { other: noop } }),
    'body.tasks[0].path',
    /asks for snapshot cpu-free-ubuntu, which the request does not map; it maps other/u,
  ],
  [
    'an image family nobody knows',
    startBody({ snapshots: { '*': { ...noop, image: 'ami-1' } } }),
    'body.snapshots.*.image',
    /allowed: ale-ubuntu22/u,
  ],
  [
    'an image of another system',
    startBody({ snapshots: { '*': { ...noop, os: 'windows' } } }),
    'body.snapshots.*.os',
    /is linux, not windows/u,
  ],
  [
    'a setting nobody reads',
    startBody({ snapshots: { '*': { ...noop, knobs: { colour: 1 } } } }),
    'body.snapshots.*.knobs.colour',
    /not a setting of noop/u,
  ],
  ['a sealed network', startBody({ network: 'sealed' }), 'body.network', /sealed/u],
  [
    'a limit for an agent that is not there',
    startBody({}, { agentConcurrency: { codex: 2 } }),
    'body.limits.agentConcurrency.codex',
    /no agent of the id codex/u,
  ],
];

describe('a start is refused (422), and nothing is written, for', () => {
  it.each(REFUSED)('%s', async (_what, body, path, message) => {
    const world = await ready();
    const problem = await refusal(world, 'startSweep', { role: 'operator', body });
    expect(problem).toMatchObject({ status: 422, code: 'RequestRefusedError' });
    expect(problem.problems.map((each) => each.path)).toEqual([path]);
    expect(problem.problems[0]?.message).toMatch(message);
    expect(problem.detail).toContain(path);
    expect(await world.keysIn('sweeps')).toEqual([]);
    expect(world.executions.started.size).toBe(0);
  });

  it('units whose ids would not fit into the tags of a machine, each agent with each task', async () => {
    const world = await ready();
    const agents = (length: number) => [{ id: 'a'.repeat(length), agentId: 'scripted', model: 'm'.repeat(101) }];
    const body = (length: number) => startBody({ agents: agents(length), trials: 2, dryRun: true });
    await call(world, 'startSweep', { body: body(95) });
    const { status, problems } = await refusal(world, 'startSweep', { body: body(96) });
    expect([status, problems.map(({ path }) => path)]).toEqual([422, ['body.agents[0]']]);
    const named = `agent ${'a'.repeat(96)}, model ${'m'.repeat(101)} and task demo/copy together`;
    expect(problems[0]?.message).toContain(`${named} make unit ids of 252 characters; at most 251 are allowed`);
  });

  it('a task without published data: its catalogue row is there, its manifest is not', async () => {
    const world = await ready();
    const row = PublishedTaskRowSchema.parse((await world.store.get(rowKeys.publishedTask('demo/copy')))?.body);
    await world.artifacts.remove({ bucket: 'tasks', key: taskManifestKey(row) });
    const problem = await refusal(world, 'startSweep', { body: startBody() });
    expect(problem.problems).toMatchObject([{ path: 'body.tasks[0].revision' }]);
    expect(problem.problems[0]?.message).toContain('has no published data');
  });

  it('a budget over the deployment’s cap, or none where there is a cap', async () => {
    const world = await ready({}, { sweepBudgetUsd: 100 });
    const over = await refusal(world, 'startSweep', { body: startBody({}, { budgetUsd: 100.5 }) });
    expect(over.problems).toMatchObject([
      { path: 'body.limits.budgetUsd', message: "100.5 USD is over the deployment's cap of 100 USD" },
    ]);
    const none = await refusal(world, 'startSweep', { body: startBody() });
    expect(none.problems).toMatchObject([{ path: 'body.limits.budgetUsd' }]);
    await call(world, 'startSweep', { body: startBody({}, { budgetUsd: 100 }) });
  });

  it('a task whose card asks for a network that cannot be given', async () => {
    const world = await ready({ vm: { network: { mode: 'allowlist', allow: ['pypi.org'] } } });
    const problem = await refusal(world, 'startSweep', { body: startBody() });
    expect(problem.problems[0]?.message).toMatch(/allowlist/u);
  });

  it('a cleanup mode that a provider of the request cannot do, once for each provider', async () => {
    const world = await ready();
    const machine = { ...noop, provider: 'static', knobs: { endpoint: 'http://10.0.0.9:5000' } };
    const snapshots = { '*': machine, other: machine, third: noop };
    const body = { ...startBody({ snapshots }), cleanupMode: 'stop' };
    const problem = await refusal(world, 'startSweep', { body });
    const found = problem.problems.filter(({ path }) => path === 'body.cleanupMode');
    expect(found.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^provider static cannot be asked for cleanup mode stop/u),
    ]);
  });

  it.each([
    ['of the sweep', {}, 169_201],
    ['of its card', { vm: { timeout: 169_201 } }, null],
  ])('more time for an agent than EC2 can hear of: %s', async (_, card, wallTimeSeconds) => {
    const world = await ready(card);
    const snapshots = { '*': { ...noop, provider: 'aws' } };
    const told = async (seconds: number | null) => {
      const body = startBody({ snapshots }, { wallTimeSeconds: seconds });
      const { problems } = await refusal(world, 'startSweep', { body });
      return problems.filter(({ message }) => /at most 169200 s/u.test(message)).map(({ path }) => path);
    };
    expect(await told(wallTimeSeconds)).toEqual(['body.tasks[0].path']);
    expect(await told(169_200)).toEqual([]);
  });

  it('settings of the wrong kind, or left out where a provider needs them', async () => {
    const world = await ready();
    const snapshots = { '*': { ...noop, provider: 'static', knobs: { cleanup_on_release: 'maybe' } } };
    const problem = await refusal(world, 'startSweep', { body: startBody({ snapshots }) });
    expect(problem.problems.map(({ path }) => path).sort()).toEqual([
      'body.snapshots.*.knobs.cleanup_on_release',
      'body.snapshots.*.knobs.endpoint',
      'body.snapshots.*.provider',
    ]);
  });
});

describe('a start that is allowed', () => {
  it('warns of what will disappoint: variants without a reference, and less time than an agent has', async () => {
    const world = await ready({ hasReference: false });
    const { warnings } = await call(world, 'startSweep', { body: startBody({}, { deadlineSeconds: 300 }) });
    expect(warnings).toEqual([
      'demo/copy gives an agent 600 s, which is longer than the time to the deadline',
      'demo/copy has no reference for variant 0, 1: it will be ungraded',
    ]);
  });

  it('pins the revision it names, also when a newer one is published', async () => {
    const world = await ready();
    const older = PublishedTaskRowSchema.parse((await world.store.get(rowKeys.publishedTask('demo/copy')))?.body);
    await publishBoth(world, { hasStart: true });
    const tasks = [{ path: 'demo/copy', revision: older.revision }];
    const started = await call(world, 'startSweep', { body: startBody({ tasks }) });
    expect(started['tasks']).toMatchObject([{ revision: older.revision }]);
    const newest = await call(world, 'startSweep', { body: startBody() });
    expect(newest['tasks']).not.toMatchObject([{ revision: older.revision }]);
    const key = objectKeys.request(String(started['sweepId']), 1);
    const request = new TextDecoder().decode(await world.artifacts.get({ bucket: 'artifacts', key }));
    expect(request).toContain(taskManifestKey(older));
  });
});
