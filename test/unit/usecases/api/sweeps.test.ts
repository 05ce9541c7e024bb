import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { objectKeys, rowKeys } from '#core/keys';
import { encodeCursor } from '#core/page-cursor';
import { UnitRowSchema } from '#core/rows';
import { closeSweep } from '#usecases/steps/sweeps';
import { planSweep } from '#usecases/plan-sweep';
import { API_POLICY, arnOf, call, publishBoth, refusal, startBody } from '#test/builders/api-call';
import { World } from '#test/builders/world';

const PageSchema = z.object({
  items: z.array(z.looseObject({ sweepId: z.string().optional(), unitId: z.string().optional() })),
  cursor: z.string().nullable(),
});
type Item = z.infer<typeof PageSchema>['items'][number];

/** A sweep of `trials` times two units, planned. */
async function planned(world: World, trials = 1): Promise<string> {
  const { sweepId } = await call(world, 'startSweep', { body: startBody({ trials }) });
  await planSweep({ sweepId: String(sweepId), run: 1 }, world.ports);
  return String(sweepId);
}

async function ready(): Promise<World> {
  const world = new World({ policy: API_POLICY });
  await publishBoth(world);
  return world;
}

async function walk(
  world: World,
  operationId: string,
  options: { readonly id?: string; readonly query: Record<string, string> },
) {
  const pages: Item[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = { ...options.query, ...(cursor === '' ? {} : { cursor }) };
    const page = PageSchema.parse(await call(world, operationId, { ...options, query }));
    pages.push(page.items);
    cursor = page.cursor;
    if (pages.length > 50) throw new Error('the pages do not end');
  }
  return pages;
}

async function changeUnit(world: World, sweepId: string, unitId: string, changes: object): Promise<void> {
  const body = UnitRowSchema.parse({ ...(await world.unit(unitId, sweepId)), ...changes });
  await world.store.write([{ put: { ...rowKeys.unit(sweepId, unitId), body }, when: 'any' }]);
}

describe('sweeps', () => {
  it('come newest first, page by page, each once', async () => {
    const world = await ready();
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) {
      ids.unshift(String((await call(world, 'startSweep', { body: startBody() }))['sweepId']));
      await world.clock.advance(1000);
    }
    const pages = await walk(world, 'listSweeps', { query: { limit: '2' } });
    expect(pages.flat().map(({ sweepId }) => sweepId)).toEqual([...ids].sort().reverse());
    expect(pages.map((page) => page.length).slice(0, 2)).toEqual([2, 2]);
  });

  it('are accepted first, then run with a ledger whose classes add up, then closed with a report', async () => {
    const world = await ready();
    const { sweepId } = await call(world, 'startSweep', { body: startBody({ trials: 2 }) });
    const id = String(sweepId);
    expect(await call(world, 'getSweep', { id })).toMatchObject({
      status: 'accepted',
      ledger: null,
      plannedUnits: null,
    });
    await planSweep({ sweepId: id, run: 1 }, world.ports);
    const [first, second] = await world.planItems(id, 1);
    await changeUnit(world, id, first?.unitId ?? '', { class: 'scored', score: 0.5 });
    await changeUnit(world, id, second?.unitId ?? '', { class: 'not_run', notRunReason: 'budget' });
    expect(await call(world, 'getSweep', { id, role: 'viewer' })).toMatchObject({
      status: 'running',
      meanScore: 0.5,
      reportUrl: null,
      ledger: { planned: 4, counts: { scored: 1, not_run: 1, open: 2 }, notRun: { budget: 1 } },
      agents: [{ id: 'scripted', agentId: 'scripted', model: null }],
      tasks: [{ path: 'demo/copy' }],
    });
    await world.artifacts.put({ bucket: 'artifacts', key: objectKeys.report(id) }, '<html>');
    await closeSweep(world.ports, id, 1);
    const closed = await call(world, 'getSweep', { id });
    expect(closed['status']).toBe('closed');
    expect(String(closed['reportUrl'])).toContain('report.html');
  });

  it('that are not there are not found, nor are their units', async () => {
    const world = await ready();
    for (const name of ['getSweep', 'listUnits', 'cancelSweep', 'pauseSweep', 'resumeSweep']) {
      expect(await refusal(world, name, { id: 'sw-none' })).toMatchObject({ status: 404, code: 'NotFoundError' });
    }
  });
});

describe('units', () => {
  it('come in the order of their ids, page by page, each once, whatever the filter', async () => {
    const world = await ready();
    const id = await planned(world, 12);
    const all = (await world.planItems(id, 1)).map(({ unitId }) => unitId).sort();
    expect(all.length).toBe(24);
    const pages = await walk(world, 'listUnits', { id, query: { limit: '7' } });
    expect(pages.flat().map(({ unitId }) => unitId)).toEqual(all);
    const lost = all.filter((_, at) => at % 5 === 0);
    for (const unitId of lost) await changeUnit(world, id, unitId, { class: 'lost' });
    const filtered = await walk(world, 'listUnits', { id, query: { limit: '2', class: 'lost' } });
    expect(filtered.flat().map(({ unitId }) => unitId)).toEqual(lost);
    const none = await walk(world, 'listUnits', { id, query: { agentId: 'other' } });
    expect(none).toEqual([[]]);
  });

  it('of an earlier run are not those of this one', async () => {
    const world = await ready();
    const id = await planned(world);
    const [first] = await world.planItems(id, 1);
    await changeUnit(world, id, first?.unitId ?? '', { run: 0 });
    const pages = await walk(world, 'listUnits', { id, query: {} });
    expect(pages.flat().length).toBe(1);
  });

  it('a cursor of another query, or one that somebody made up, is refused', async () => {
    const world = await ready();
    const id = await planned(world, 3);
    const { cursor } = await call(world, 'listUnits', { id, query: { limit: '1' } });
    const cursors = [
      String(cursor),
      encodeCursor(['units', id, 'lost', null, null], '\ud800'),
      encodeCursor(['units', id, 'lost', null, null], 'x'.repeat(1025)),
      'e30',
    ];
    for (const each of cursors) {
      const problem = await refusal(world, 'listUnits', { id, query: { class: 'lost', cursor: each } });
      expect(problem.status).toBe(400);
    }
  });
});

describe('the catalogue', () => {
  it('names what is published, page by page', async () => {
    const world = await ready();
    await publishBoth(world, { taskId: 'demo/other' });
    const pages = await walk(world, 'listTasks', { query: { limit: '1' } });
    expect(pages.flat().length).toBe(2);
    expect(pages.flat()).toMatchObject([
      { taskId: 'demo/copy' },
      { taskId: 'demo/other', variants: [{ index: 0 }, { index: 1 }] },
    ]);
    expect((await walk(world, 'listAgents', { query: {} })).flat()).toMatchObject([{ agentId: 'scripted' }]);
  });
});

describe('a sweep', () => {
  it('is paused, resumed and cancelled by its row, and saying so twice is no error', async () => {
    const world = await ready();
    const id = await planned(world);
    for (const [name, changed] of [
      ['pauseSweep', { paused: true }],
      ['pauseSweep', { paused: true }],
      ['resumeSweep', { paused: false }],
      ['cancelSweep', { cancelled: true }],
      ['cancelSweep', { cancelled: true }],
    ] as const) {
      expect(await call(world, name, { role: 'operator', id })).toMatchObject(changed);
    }
    expect(
      world.events.published.filter(({ detailType }) => detailType === 'sweep.changed').length,
    ).toBeGreaterThanOrEqual(5);
    expect(await refusal(world, 'resumeSweep', { id })).toMatchObject({ status: 409, code: 'StateConflictError' });
    const told = world.log.lines.filter(({ event }) => event === 'sweep.controlled').map(({ fields }) => fields['by']);
    expect(new Set(told)).toEqual(new Set([arnOf('operator')]));
  });

  it('that is closed can be told nothing any more', async () => {
    const world = await ready();
    const id = await planned(world);
    await closeSweep(world.ports, id, 1);
    for (const name of ['cancelSweep', 'pauseSweep', 'resumeSweep']) {
      expect(await refusal(world, name, { id })).toMatchObject({ status: 409, code: 'StateConflictError' });
    }
  });
});
