import { describe, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import { ReapAnswerSchema, SandboxPageSchema, StopAnswerSchema, type SandboxEntry } from '#contracts/api-sandboxes';
import { providersOf } from '#local/local-providers';
import { planSweep } from '#usecases/plan-sweep';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { ATTEMPT, runSteps, runTo, UNIT } from '#test/builders/attempt-run';
import { API_POLICY, arnOf, call, publishBoth, refusal, startBody, type CallOptions } from '#test/builders/api-call';
import { FakeMachines } from '#test/fakes/machines';
import { sandboxSpec } from '#test/fakes/sandbox';
import { World, type WorldOptions } from '#test/builders/world';

const MINUTE = 60_000;
const newWorld = (more: WorldOptions = {}) => new World({ policy: API_POLICY, ...more });

async function listed(world: World, options: CallOptions = {}): Promise<readonly SandboxEntry[]> {
  const items: SandboxEntry[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < 20; pages += 1) {
    const query: Readonly<Record<string, string>> = cursor === null ? {} : { cursor };
    const page = SandboxPageSchema.parse(await call(world, 'listSandboxes', { ...options, query }));
    items.push(...page.items);
    cursor = page.cursor;
    if (cursor === null) return items;
  }
  throw new Error('the pages do not end');
}

async function asked(world: World, dryRun: boolean) {
  return ReapAnswerSchema.parse(await call(world, 'reapSandboxes', { role: 'operator', body: { dryRun } }));
}

describe('the list of sandboxes', () => {
  it('joins what the provider lists with the attempt that uses it', async () => {
    const world = newWorld();
    await runTo(world, 'run');
    await world.clock.advance(2 * MINUTE);
    const [entry, ...others] = await listed(world, { role: 'viewer' });
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      provider: 'noop',
      sandboxId: world.machines.held[0]?.sandboxId,
      owner: 'attempt',
      state: 'ready',
      attemptId: ATTEMPT,
      unitId: UNIT,
      sweepId: 'first',
      os: 'linux',
      reaper: 'keep',
      orphanSince: null,
    });
    expect(entry?.ageSeconds).toBeGreaterThanOrEqual(120);
    expect(entry?.expiresAt).toBe((await world.attempt(ATTEMPT)).expiresAt);
  });

  it('tells an orphan from one that was kept on purpose', async () => {
    const world = newWorld();
    await runTo(world, 'collect', { cleanupMode: 'keep' });
    await runSteps(world, 'release', 'closeUnit');
    await world.machines.acquire(sandboxSpec({ attemptId: 'forgotten.1', provider: 'noop' }));
    const entries = await listed(world);
    expect(entries.map(({ owner, reaper }) => [owner, reaper]).toSorted()).toEqual([
      ['kept', 'keep'],
      ['orphan', 'note'],
    ]);
  });

  it('shows what was detached, which no provider lists, until it is gone', async () => {
    const world = newWorld();
    await runTo(world, 'collect', { cleanupMode: 'detach' });
    const sandboxId = world.machines.held[0]?.sandboxId ?? '';
    world.machines.states.set(sandboxId, { state: 'ready' });
    await runSteps(world, 'release', 'closeUnit');
    const [entry, ...others] = await listed(world);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      sandboxId,
      owner: 'detached',
      state: 'ready',
      attemptId: ATTEMPT,
      unitId: UNIT,
      os: 'linux',
      expiresAt: null,
      reaper: 'keep',
      why: expect.stringContaining('cleanup mode detach') as unknown,
    });
    expect(await asked(world, true)).toMatchObject({ items: [], kept: 1, isComplete: true });
    world.machines.states.set(sandboxId, { state: 'gone', evidence: null });
    expect(await listed(world)).toEqual([]);
  });

  it('shows a detached one also where its provider cannot say how it is', async () => {
    const world = newWorld();
    const body = { attemptId: ATTEMPT, provider: 'other', sandboxId: 'x-1', detachedAt: '2026-01-01T00:00:00.000Z' };
    await world.store.write([{ put: { ...rowKeys.detached('x-1'), body }, when: 'absent' }]);
    expect(await listed(world)).toMatchObject([
      { sandboxId: 'x-1', owner: 'detached', state: 'unknown', unitId: null },
    ]);
  });

  it('goes through every detached one, page by page', async () => {
    const world = newWorld();
    for (let made = 0; made < 120; made += 1) {
      const sandboxId = `x-${String(made)}`;
      const body = { attemptId: ATTEMPT, provider: 'other', sandboxId, detachedAt: '2026-01-01T00:00:00.000Z' };
      await world.store.write([{ put: { ...rowKeys.detached(sandboxId), body }, when: 'absent' }]);
    }
    expect(new Set((await listed(world)).map(({ sandboxId }) => sandboxId)).size).toBe(120);
  });

  it('goes through every provider, page by page, in any number', async () => {
    const world = newWorld();
    const other = new FakeMachines({ name: 'other' });
    const ports = { ...world.ports, providers: providersOf([world.machines, other]) };
    Object.defineProperty(world, 'ports', { value: ports });
    for (let made = 0; made < 130; made += 1) {
      const machines = made % 13 === 0 ? other : world.machines;
      await machines.acquire(sandboxSpec({ attemptId: `lost.${String(made + 1)}`, clientToken: `c${String(made)}` }));
    }
    const entries = await listed(world);
    expect(entries).toHaveLength(130);
    expect(new Set(entries.map(({ provider, sandboxId }) => `${provider} ${sandboxId}`)).size).toBe(130);
    expect(entries.filter(({ provider }) => provider === 'other')).toHaveLength(10);
  });

  it('says nothing of an end that the tags do not tell, and such a sandbox is reaped by its sightings alone', async () => {
    const world = newWorld();
    await world.machines.acquire(sandboxSpec({ attemptId: 'someone', expiresAt: '' }));
    expect(await listed(world)).toMatchObject([
      { attemptId: 'someone', unitId: null, expiresAt: null, ageSeconds: null, owner: 'orphan', reaper: 'note' },
    ]);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held).toHaveLength(1);
    await world.clock.advance(5 * MINUTE);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held).toEqual([]);
  });

  it('shows what names no attempt, and that nobody here ends it', async () => {
    const world = newWorld();
    await world.machines.acquire(sandboxSpec({ attemptId: '', expiresAt: '' }));
    const why = expect.stringMatching(/none of an attempt: no role here may end it/u) as string;
    expect(await listed(world)).toMatchObject([{ attemptId: null, owner: 'orphan', reaper: 'keep', why }]);
  });

  it('counts a second machine of an attempt as nobody’s, and the reaper ends it and leaves the first', async () => {
    const world = newWorld();
    await runTo(world, 'run');
    const own = world.machines.held[0]?.sandboxId;
    await world.machines.acquire(sandboxSpec({ attemptId: ATTEMPT, clientToken: 'another' }));
    const owners = (await listed(world)).map(({ sandboxId, owner }) => [sandboxId === own, owner]);
    expect(owners.toSorted()).toEqual([
      [false, 'orphan'],
      [true, 'attempt'],
    ]);
    await reapSandboxes({}, world.ports);
    await world.clock.advance(5 * MINUTE);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held.map(({ sandboxId }) => sandboxId)).toEqual([own]);
    expect((await world.attempt(ATTEMPT)).evidence).toBeNull();
  });

  it.each(['nonsense', 'WzEsInNhbmRib3hlcyIsIltdIl0', 'WzEsInNhbmRib3hlcyIsIltcIm5vbmVcIl0iXQ'])(
    'refuses the cursor %s',
    async (cursor) => {
      const problem = await refusal(newWorld(), 'listSandboxes', { query: { cursor } });
      expect(problem).toMatchObject({ status: 400, code: 'InvalidRequestError' });
    },
  );
});

describe('asking for the reaper', () => {
  it('says in a dry run what would be noted and reaped, and does neither', async () => {
    const world = newWorld();
    await runTo(world, 'run');
    await world.machines.acquire(sandboxSpec({ attemptId: 'forgotten.1', clientToken: 'f' }));
    const before = [...world.machines.acts];
    expect(await asked(world, true)).toMatchObject({
      isAsked: false,
      kept: 1,
      isComplete: true,
      items: [{ attemptId: 'forgotten.1', reaper: 'note' }],
    });
    expect(world.events.published.filter(({ detailType }) => detailType === 'sandboxes.reap-asked')).toEqual([]);
    expect(await world.keysIn('sightings')).toEqual([]);
    await reapSandboxes({}, world.ports);
    await world.clock.advance(4 * MINUTE);
    const early = await asked(world, true);
    expect(early).toMatchObject({ items: [], kept: 2 });
    await world.clock.advance(MINUTE);
    expect(await asked(world, true)).toMatchObject({ items: [{ attemptId: 'forgotten.1', reaper: 'reap' }], kept: 1 });
    expect(world.machines.acts.slice(before.length).filter((act) => !act.startsWith('list'))).toEqual([]);
    expect(world.machines.held).toHaveLength(2);
  });

  it('really asked tells the reaper, who asked is written down, and the API itself ends nothing', async () => {
    const world = newWorld();
    await world.machines.acquire(sandboxSpec({ attemptId: 'forgotten.1' }));
    expect(await asked(world, false)).toMatchObject({ isAsked: true, items: [{ reaper: 'note' }] });
    expect(world.events.published.map(({ detailType }) => detailType)).toContain('sandboxes.reap-asked');
    expect(world.log.lines.find(({ event }) => event === 'reap.asked')?.fields).toMatchObject({
      by: arnOf('operator'),
    });
    expect(world.machines.held).toHaveLength(1);
  });

  it('looks at a bounded number of pages and says so', async () => {
    const world = newWorld();
    world.machines.list = async (cursor) =>
      Promise.resolve({ sandboxes: [], cursor: String(Number(cursor ?? '0') + 1) });
    expect(await asked(world, true)).toMatchObject({ items: [], isComplete: false });
  });
});

describe('stopping everything', () => {
  it('cancels planned sweeps, accepted ones and none that is closed, and says what became of each', async () => {
    const world = newWorld();
    await publishBoth(world);
    const ids: string[] = [];
    for (let made = 0; made < 4; made += 1) {
      ids.push(String((await call(world, 'startSweep', { body: startBody() }))['sweepId']));
      await world.clock.advance(1000);
    }
    const [planned = '', cancelled = '', accepted = '', closed = ''] = ids;
    await planSweep({ sweepId: planned, run: 1 }, world.ports);
    await call(world, 'cancelSweep', { id: cancelled });
    const body = { ...(await world.store.get(rowKeys.sweep(closed)))?.body, status: 'closed' };
    await world.store.write([{ put: { ...rowKeys.sweep(closed), body }, when: 'any' }]);
    const answer = StopAnswerSchema.parse(await call(world, 'stopAll', { role: 'operator' }));
    expect(answer.sweeps.map(({ sweepId, result }) => [sweepId, result])).toEqual(
      [planned, cancelled, accepted].map((id) => [id, id === cancelled ? 'already' : 'cancelled']).toSorted(),
    );
    for (const id of [planned, accepted]) {
      expect(await call(world, 'getSweep', { id })).toMatchObject({ cancelled: true });
    }
    expect(world.events.published.map(({ detailType }) => detailType)).toContain('sandboxes.reap-asked');
  });

  it('goes on when one sweep cannot be written, and asks nothing twice of who was cancelled', async () => {
    const world = newWorld();
    await publishBoth(world);
    const first = String((await call(world, 'startSweep', { body: startBody() }))['sweepId']);
    await world.clock.advance(1000);
    const second = String((await call(world, 'startSweep', { body: startBody() }))['sweepId']);
    const write = world.store.write.bind(world.store);
    world.store.write = async (writes) => {
      if (JSON.stringify(writes).includes(first)) throw new Error('the table is throttled');
      await write(writes);
    };
    const answer = StopAnswerSchema.parse(await call(world, 'stopAll'));
    expect(Object.fromEntries(answer.sweeps.map(({ sweepId, result }) => [sweepId, result]))).toEqual({
      [first]: 'failed',
      [second]: 'cancelled',
    });
    expect(JSON.stringify(answer)).not.toContain('throttled');
    world.store.write = write;
    const again = StopAnswerSchema.parse(await call(world, 'stopAll'));
    expect(Object.fromEntries(again.sweeps.map(({ sweepId, result }) => [sweepId, result]))).toEqual({
      [first]: 'cancelled',
      [second]: 'already',
    });
  });
});
