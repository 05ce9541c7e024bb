import { describe, expect, it, vi } from 'vitest';
import { jobId } from '#core/ids';
import { objectKeys, rowKeys } from '#core/keys';
import { RUN_FILES } from '#core/run-tree';
import { UnitDetailSchema, type UnitDetail } from '#contracts/api-schemas';
import { ATTEMPT, runTo, UNIT, type StepName } from '#test/builders/attempt-run';
import { API_POLICY, call, refusal } from '#test/builders/api-call';
import type { RequestOptions } from '#test/builders/catalog';
import { World } from '#test/builders/world';

async function after(step: StepName, options: RequestOptions = {}): Promise<World> {
  const world = new World({ policy: API_POLICY });
  await runTo(world, step, options);
  return world;
}

async function detail(
  world: World,
  query: Record<string, string> = {},
  role: 'admin' | 'viewer' = 'admin',
): Promise<UnitDetail> {
  return UnitDetailSchema.parse(await call(world, 'getUnit', { role, id: UNIT, query }));
}

/** What hosts do that keep the run tree in the bucket. */
async function shareTree(world: World): Promise<void> {
  for (const [file, content] of world.runTree.files) {
    await world.artifacts.put({ bucket: 'artifacts', key: `runs/${file}` }, content);
  }
}

async function changeSweep(world: World, changes: object): Promise<void> {
  const body = { ...(await world.store.get(rowKeys.sweep('first')))?.body, ...changes };
  await world.store.write([{ put: { ...rowKeys.sweep('first'), body }, when: 'any' }]);
}

describe('an open unit says what it waits for', () => {
  it('before it asked for a slot: its machine', async () => {
    const world = new World({ policy: API_POLICY });
    await world.plan();
    expect((await detail(world)).waitsFor).toMatchObject({ what: 'start', since: null });
  });

  it.each([
    ['gradeUnit', 'grade', /grader is at work/u],
    ['provision', 'stage', /stage provision|between two stages/u],
    ['closeUnit', null, null],
  ] as const)('after %s: %s', async (step, what, why) => {
    const { waitsFor } = await detail(await after(step));
    expect(waitsFor?.what ?? null).toBe(what);
    if (why !== null) expect(waitsFor?.why).toMatch(why);
  });

  it.each([
    [rowKeys.sandboxWait(ATTEMPT), 'sandbox', null, /^its noop sandbox is starting$/u],
    [rowKeys.jobWait(jobId(ATTEMPT, 'stage')), 'job', null, /^its inputs are being brought/u],
    [
      rowKeys.jobWait(jobId(ATTEMPT, 'run')),
      'job',
      '2026-01-01T00:05:00.000Z',
      /at work; its sandbox has not answered since/u,
    ],
    [rowKeys.jobWait(jobId(ATTEMPT, 'collect')), 'job', null, /^its output is being collected$/u],
  ] as const)('while a state waits under %o: %s', async (key, what, unreachableSince, why) => {
    const world = await after('provision');
    const times = { since: '2026-01-01T00:00:00.000Z', giveUpAt: '2026-01-01T02:00:00.000Z', unreachableSince };
    const wait = { token: 't', sweepId: 'first', unitId: UNIT, attemptId: ATTEMPT, ...times };
    await world.store.write([{ put: { ...key, body: wait }, when: 'any' }]);
    const { waitsFor } = await detail(world);
    expect(waitsFor).toMatchObject({ what, since: times.since, until: times.giveUpAt });
    expect(waitsFor?.why).toMatch(why);
  });

  it('while it waits to be admitted: the first rule that keeps it out', async () => {
    const world = new World({ policy: { ...API_POLICY, caps: { ...API_POLICY.caps, vCpusByProvider: { noop: 4 } } } });
    await world.plan();
    const wait = {
      token: 't',
      sweepId: 'first',
      unitId: UNIT,
      agentId: 'scripted',
      attempt: 1,
      run: 1,
      vCpus: 2,
      provider: 'noop',
      askedAt: '2026-01-01T00:00:00.000Z',
      grantedAttemptId: null,
    };
    await world.store.write([{ put: { ...rowKeys.admitWait('first', UNIT), body: wait }, when: 'any' }]);
    const why = async () => (await detail(world)).waitsFor?.why;
    expect(await why()).toMatch(/^its turn: it is the next of its sweep/u);
    const counters = {
      bySweep: { first: 3 },
      byAgent: { 'first scripted': 3 },
      vCpusByProvider: { noop: 3 },
      lastSweepId: null,
    };
    await world.store.write([{ put: { ...rowKeys.slotCounters(), body: counters }, when: 'any' }]);
    expect(await why()).toMatch(/^vCPU quota: noop has 3 of 4 in use, and the unit needs 2/u);
    await changeSweep(world, { agentConcurrency: { scripted: 3 } });
    expect(await why()).toMatch(/^agent concurrency: scripted holds all its 3 slots/u);
    await changeSweep(world, { concurrency: 3 });
    expect(await why()).toMatch(/^concurrency: the sweep holds all its 3 slots/u);
    await changeSweep(world, { paused: true });
    expect(await why()).toMatch(/paused/u);
    await changeSweep(world, { deadlineAt: '2020-01-01T00:00:00.000Z' });
    expect(await why()).toMatch(/deadline/u);
    await changeSweep(world, { cancelled: true });
    expect(await why()).toMatch(/cancelled/u);
  });

  it('when its budget is held by others, without a word of the amounts', async () => {
    const world = new World({ policy: API_POLICY });
    await world.plan({ limits: { budgetUsd: 987.25 } });
    await changeSweep(world, { spentUsd: 987.25, largestAttemptUsd: 1.75 });
    const wait = {
      token: 't',
      sweepId: 'first',
      unitId: UNIT,
      agentId: 'scripted',
      attempt: 1,
      run: 1,
      vCpus: 1,
      provider: 'noop',
      askedAt: '2026-01-01T00:00:00.000Z',
      grantedAttemptId: null,
    };
    await world.store.write([{ put: { ...rowKeys.admitWait('first', UNIT), body: wait }, when: 'any' }]);
    const { waitsFor } = await detail(world, {}, 'viewer');
    expect(waitsFor?.why).toMatch(/^budget:/u);
    expect(JSON.stringify(await detail(world, {}, 'viewer'))).not.toMatch(/987|1\.75/u);
  });

  it('while something of it is still there: what', async () => {
    const world = await after('close');
    const wait = {
      token: 't',
      sweepId: 'first',
      unitId: UNIT,
      attemptId: ATTEMPT,
      since: '2026-01-01T00:00:00.000Z',
      giveUpAt: '2026-01-01T02:00:00.000Z',
    };
    const left = {
      attemptId: ATTEMPT,
      kind: 'volume',
      resourceId: 'vol-1',
      provider: 'noop',
      madeAt: '2026-01-01T00:00:00.000Z',
      goneAt: null,
      end: null,
    };
    await world.store.write([
      { put: { ...rowKeys.closeWait(UNIT), body: wait }, when: 'any' },
      { put: { ...rowKeys.teardown(ATTEMPT, 'volume', 'vol-1'), body: left }, when: 'any' },
    ]);
    expect((await detail(world)).waitsFor).toMatchObject({ what: 'teardown', why: 'not seen gone yet: volume vol-1' });
  });
});

describe('an open attempt', () => {
  it('shows its events as they are, and nothing of a record that is not whole', async () => {
    const world = await after('record');
    expect((await detail(world)).attemptList[0]?.files).toEqual([]);
    await shareTree(world);
    const [attempt] = (await detail(world)).attemptList;
    expect(attempt).toMatchObject({ closedAt: null, filesCursor: null });
    expect(attempt?.files.map(({ path }) => path)).toEqual(['events.jsonl']);
  });
});

describe('a closed unit', () => {
  it('shows its attempt: outcome, grades, teardown, and every file of its record under a link', async () => {
    const world = await after('closeUnit');
    await shareTree(world);
    const [attempt] = (await detail(world)).attemptList;
    expect(attempt).toMatchObject({ attemptId: ATTEMPT, outcome: 'completed', error: null, stage: null });
    expect(attempt?.grades).toMatchObject([{ number: 1, kind: 'graded', reason: null }]);
    expect(attempt?.teardown.length).toBeGreaterThan(0);
    const paths = attempt?.files.map(({ path }) => path) ?? [];
    expect(paths).toContain('record.json');
    expect(paths).toEqual([...paths].sort());
    expect(paths.length).toBe([...world.runTree.files.keys()].filter((file) => file !== 'report.html').length);
    for (const { url, path } of attempt?.files ?? []) expect(decodeURIComponent(url)).toContain(path);
  });

  it('has links that end five minutes from now, and says when', async () => {
    const world = await after('closeUnit');
    await shareTree(world);
    const signed = vi.spyOn(world.artifacts, 'signGet');
    const { attemptList, linksExpireAt } = await detail(world);
    expect(attemptList[0]?.files.length).toBeGreaterThan(0);
    expect(signed.mock.calls.map(([, seconds]) => seconds)).toEqual(attemptList[0]?.files.map(() => 300));
    expect(linksExpireAt).toBe(new Date(world.clock.now().getTime() + 300_000).toISOString());
  });

  it('gives its files page by page, each once', async () => {
    const world = await after('closeUnit');
    await shareTree(world);
    const all = (await detail(world)).attemptList[0]?.files.map(({ path }) => path);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: Record<string, string> = { attempt: '1', limit: '2', ...(cursor === '' ? {} : { cursor }) };
      const { attemptList }: UnitDetail = await detail(world, query);
      const [attempt] = attemptList;
      seen.push(...(attempt?.files.map(({ path }) => path) ?? []));
      cursor = attempt?.filesCursor ?? null;
    }
    expect(seen).toEqual(all);
    expect((await refusal(world, 'getUnit', { id: UNIT, query: { cursor: 'abc' } })).status).toBe(400);
    expect((await refusal(world, 'getUnit', { id: UNIT, query: { attempt: '1', cursor: 'abc' } })).status).toBe(400);
    expect((await refusal(world, 'getUnit', { id: UNIT, query: { attempt: '2' } })).status).toBe(404);
  });

  it('gives no file with amounts to who may not see costs', async () => {
    const world = await after('closeUnit');
    await shareTree(world);
    const runDir = (await world.unit(UNIT)).runDir ?? '';
    const key = objectKeys.run(runDir, RUN_FILES.record);
    const record = JSON.parse(new TextDecoder().decode(await world.artifacts.get({ bucket: 'artifacts', key }))) as {
      files: { path: string }[];
    };
    const file = { path: RUN_FILES.cost, sizeBytes: 2, sha256: 'a'.repeat(64) };
    const without = [...record.files.filter(({ path }) => path !== RUN_FILES.cost), file];
    const pathsOf = async (cost: unknown, role: 'admin' | 'viewer') => {
      const changed = JSON.stringify({ ...record, files: without, cost });
      await world.artifacts.put({ bucket: 'artifacts', key }, changed);
      return (await detail(world, {}, role)).attemptList[0]?.files.map(({ path }) => path) ?? [];
    };
    const hidden = [{ part: 'machine', basis: 'observed', note: null }];
    const open = [{ part: 'machine', basis: 'observed', usd: 3, note: null }];
    expect(await pathsOf(hidden, 'admin')).toEqual(expect.arrayContaining(['cost.json', 'record.json']));
    expect(await pathsOf(hidden, 'viewer')).toContain('record.json');
    expect(await pathsOf(hidden, 'viewer')).not.toContain('cost.json');
    expect(await pathsOf(open, 'viewer')).not.toContain('record.json');
    expect(await pathsOf(open, 'admin')).toContain('record.json');
  });

  it('whose record is not there, or is none, has no files', async () => {
    const world = await after('closeUnit');
    expect((await detail(world)).attemptList[0]?.files).toEqual([]);
    const runDir = (await world.unit(UNIT)).runDir ?? '';
    await world.artifacts.put({ bucket: 'artifacts', key: objectKeys.run(runDir, 'record.json') }, '{"files":3}');
    expect((await detail(world)).attemptList[0]?.files).toEqual([]);
  });

  it('is graded again from what was collected; an open one, or one without output, is not', async () => {
    const world = await after('closeUnit');
    expect(await call(world, 'regradeUnit', { role: 'operator', id: UNIT })).toEqual({
      unitId: UNIT,
      attemptId: ATTEMPT,
      gradeNumber: 2,
    });
    const open = await after('run');
    expect(await refusal(open, 'regradeUnit', { id: UNIT })).toMatchObject({ status: 409, code: 'StateConflictError' });
    await world.changeAttempt(ATTEMPT, { collected: null });
    expect(await refusal(world, 'regradeUnit', { id: UNIT })).toMatchObject({ status: 409 });
    expect((await refusal(world, 'regradeUnit', { id: 'first__none__v0' })).status).toBe(404);
  });
});
