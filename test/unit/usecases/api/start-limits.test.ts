import { describe, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import { SweepRowSchema } from '#core/rows';
import { planSweep } from '#usecases/plan-sweep';
import { API_POLICY, call, publishBoth, refusal, startBody } from '#test/builders/api-call';
import type { TaskOptions } from '#test/builders/catalog';
import { billedMachine } from '#test/builders/costs';
import { World } from '#test/builders/world';

async function ready(options: TaskOptions = {}, caps: Partial<(typeof API_POLICY)['caps']> = {}): Promise<World> {
  const world = new World({ policy: { ...API_POLICY, caps: { ...API_POLICY.caps, ...caps } } });
  await publishBoth(world, options);
  return world;
}

const noop = { provider: 'noop', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} };

describe('a request that would be stored', () => {
  it.each([
    ['named like one', { api_key: 'plain-words-of-mine' }, 'body.agents[0].config.api_key', 'plain-words'],
    ['deep inside', { env: [{ MY_TOKEN: 'abc' }] }, 'body.agents[0].config.env[0].MY_TOKEN', 'abc'],
    ['shaped like one', { note: 'use sk-SECRET0123456789abcdef' }, 'body.agents[0].config.note', 'SECRET'],
    ['in an address', { proxy: 'http://me:hidden@10.0.0.1' }, 'body.agents[0].config.proxy', 'hidden'],
  ])(
    'is refused for a secret %s in an agent’s settings, by its place and without its value',
    async (_, config, path, value) => {
      const world = await ready();
      for (const dryRun of [true, false]) {
        const body = startBody({ agents: [{ agentId: 'scripted', config }], dryRun });
        const problem = await refusal(world, 'startSweep', { body });
        expect(problem.status).toBe(422);
        expect(problem.problems.map((each) => each.path)).toEqual([path]);
        expect(problem.problems[0]?.message).toMatch(/looks like a secret/u);
        expect(JSON.stringify(problem)).not.toContain(value);
      }
      expect(await world.keysIn('sweeps')).toEqual([]);
    },
  );

  it('is refused for a secret anywhere else: the prompt’s suffix, the name, a snapshot’s settings', async () => {
    const world = await ready();
    const key = 'sk-0123456789abcdefghij';
    const machine = { ...noop, provider: 'static', knobs: { endpoint: 'http://me:hidden@10.0.0.9:5000' } };
    const body = startBody({ name: key, promptSuffix: `use ${key}`, snapshots: { '*': machine } });
    const problem = await refusal(world, 'startSweep', { body });
    const paths = problem.problems.filter(({ message }) => message.includes('secret')).map(({ path }) => path);
    expect(paths.sort()).toEqual(['body.name', 'body.promptSuffix', 'body.snapshots.*.knobs.endpoint']);
    expect(problem.problems.find(({ path }) => path === 'body.name')?.message).not.toContain(key);
  });

  it('may hold counts of tokens, and agents whose id sounds like a secret', async () => {
    const world = await ready();
    const config = { max_tokens: 1000, thinkingToken: 5, token: '', note: 'a token of thanks' };
    const agents = [{ id: 'token', agentId: 'scripted', config }];
    await call(world, 'startSweep', { body: startBody({ agents }, { agentConcurrency: { token: 1 } }) });
  });
});

describe('a sweep that could never start', () => {
  it('is refused for a task whose sandbox takes more vCPUs than its provider may run at once, also in a dry run', async () => {
    const world = await ready({ vm: { vcpus: 8 } }, { vCpusByProvider: { noop: 7 } });
    for (const dryRun of [true, false]) {
      const { status, problems } = await refusal(world, 'startSweep', { body: startBody({ dryRun }) });
      expect(status).toBe(422);
      expect(problems.map(({ path }) => path)).toEqual(['body.tasks[0].path']);
      expect(problems[0]?.message).toMatch(
        /takes 8 vCPUs, and provider noop may run 7 at once.*vCpusByProvider\.noop/u,
      );
    }
    expect(await world.keysIn('sweeps')).toEqual([]);
    const enough = await ready({ vm: { vcpus: 8 } }, { vCpusByProvider: { noop: 8, aws: 1 } });
    await call(enough, 'startSweep', { body: startBody() });
  });

  it('is warned of, without an amount, for a budget that not one attempt fits into, and only of that', async () => {
    const machines = [billedMachine({ machineType: 'm5.large' })];
    const offer = () => ({ machines, vCpus: 2, seats: null });
    const world = new World({ policy: API_POLICY, region: 'us-east-1', machines: { name: 'aws', offer } });
    await publishBoth(world);
    const aws = { ...noop, provider: 'aws', knobs: { region: 'us-east-1', zones: ['us-east-1a'] } };
    const warningsFor = async (budgetUsd: number | null) => {
      const body = startBody({ snapshots: { '*': aws }, dryRun: true }, { budgetUsd });
      return (await call(world, 'startSweep', { role: 'operator', body }))['warnings'];
    };
    expect(await warningsFor(0.0001)).toEqual([
      'the budget is less than one attempt of demo/copy may cost, so no unit of the sweep will start, and all end as not_run (budget)',
    ]);
    expect(await warningsFor(500)).toEqual([]);
    expect(await warningsFor(null)).toEqual([]);
    const body = startBody({ snapshots: { '*': aws } }, { budgetUsd: 0.0001 });
    const { sweepId } = await call(world, 'startSweep', { body });
    await planSweep({ sweepId: String(sweepId), run: 1 }, world.ports);
    const row = SweepRowSchema.parse((await world.store.get(rowKeys.sweep(String(sweepId))))?.body);
    expect(row.largestAttemptUsd).toBeGreaterThan(row.budgetUsd ?? Infinity);
  });
});
