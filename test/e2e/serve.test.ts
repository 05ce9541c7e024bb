import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import {
  CostsSchema,
  PublishAnswerSchema,
  RegradeSchema,
  StartedSweepSchema,
  SweepDetailSchema,
  SweepSummarySchema,
  TaskPageSchema,
  UnitDetailSchema,
  UnitPageSchema,
  type SweepDetail,
  type UnitDetail,
} from '#contracts/api-schemas';
import { publishThroughApi } from '#local/publish/publish-remote';
import { verifyRunFolder } from '#local/verify-run-folder';
import { openServedApi, type Caller, type ServedApi } from '#test/builders/served-api';

const TASK: Readonly<Record<string, string>> = {
  'task_card.json': '{ "title": "Copy", "vm": { "snapshot": "cpu-free-ubuntu", "timeout": 600 } }',
  'task.ts': `import type { EvaluateContext, LoadContext } from '#sdk';
export const load = ({ paths }: LoadContext) => [{ name: 'base', prompt: 'Write to ' + paths('base').output }];
export const evaluate = async ({ output, reference }: EvaluateContext) =>
  (await output.exists('x.txt')) && (await output.readText('x.txt')) === (await reference.readText('x.txt')) ? 1 : 0;`,
  'solution.ts': `import { mkdirSync, writeFileSync } from 'node:fs';
const folder = process.env['TASK_OUTPUT'] ?? '';
mkdirSync(folder, { recursive: true });
writeFileSync(folder + '/x.txt', 'right');`,
  'input/base/in.txt': 'something to read',
  'reference/base/x.txt': 'right',
};

let api: ServedApi;
beforeAll(async () => {
  api = await openServedApi();
}, 120_000);
afterAll(async () => {
  await api.close();
});

async function ask<S extends z.ZodType>(
  schema: S,
  caller: Caller,
  request: readonly [method: string, target: string, body?: unknown],
): Promise<z.infer<S>> {
  const { status, text, json } = await api.call(caller, ...request);
  expect(status, `${request[0]} ${request[1]}: ${text.slice(0, 1000)}`).toBeLessThan(300);
  return schema.parse(json);
}

const startBody = (more: Readonly<Record<string, unknown>> = {}) => ({
  name: 'served',
  costCenter: 'local',
  agents: [{ agentId: 'oracle' }, { agentId: 'nop' }],
  tasks: [{ path: 'outside/copy' }],
  snapshots: { '*': { provider: 'process', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } },
  limits: { concurrency: 2 },
  ...more,
});

async function ended(sweepId: string): Promise<SweepDetail> {
  for (;;) {
    const sweep = await ask(SweepDetailSchema, 'viewer', ['GET', `/sweeps/${sweepId}`]);
    if (sweep.status === 'closed' || sweep.status === 'failed') return sweep;
    await sleep(200);
  }
}

/** Fetches a unit's record by its links, and checks it as `examhall verify` does. */
async function fetchRecord(unit: UnitDetail, folder: string): Promise<readonly string[]> {
  const [attempt] = unit.attemptList;
  for (const { path: name, url, sha256, sizeBytes } of attempt?.files ?? []) {
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    expect(bytes.byteLength, name).toBe(sizeBytes);
    expect(createHash('sha256').update(bytes).digest('hex'), name).toBe(sha256);
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
  return (attempt?.files ?? []).map(({ path: name }) => name);
}

describe('the API served on this computer', () => {
  let sweepId = '';
  let units: readonly { readonly unitId: string; readonly agentId: string; readonly score: number | null }[] = [];

  it('takes a task from a folder outside the repository, and lists it', async () => {
    const files = Object.entries(TASK).map(([name, text]) => [`tasks/outside/copy/${name}`, text] as const);
    const folder = path.join(await api.write(Object.fromEntries(files)), 'tasks/outside/copy');
    const { modules, bundlesDir } = api.serving.session;
    const client = {
      publishTask: async (body: unknown) => await ask(PublishAnswerSchema, 'publisher', ['POST', '/tasks', body]),
      publishAgent: async (body: unknown) => await ask(PublishAnswerSchema, 'publisher', ['POST', '/agents', body]),
    };
    const options = { kind: 'task', runner: modules, cacheDir: bundlesDir } as const;
    const published = await publishThroughApi(folder, client, options);
    expect(published).toMatchObject({ id: 'outside/copy', uploadedFiles: 4 });
    const { items } = await ask(TaskPageSchema, 'viewer', ['GET', '/tasks']);
    expect(items).toMatchObject([
      {
        taskId: 'outside/copy',
        revision: published.revision,
        publishedBy: 'arn:aws:iam::000000000000:user/publisher',
        variants: [{ index: 0, name: 'base' }],
      },
    ]);
  });

  it('starts a sweep at once, runs it to its end, and grades it', async () => {
    const started = await ask(StartedSweepSchema, 'operator', ['POST', '/sweeps', startBody()]);
    expect(started).toMatchObject({ dryRun: false, plannedUnits: 2 });
    sweepId = started.sweepId ?? '';
    const sweep = await ended(sweepId);
    expect(sweep).toMatchObject({ status: 'closed', error: null, plannedUnits: 2, meanScore: 0.5 });
    expect(sweep.owner).toBe('arn:aws:iam::000000000000:user/operator');
    const page = await ask(UnitPageSchema, 'viewer', ['GET', `/sweeps/${sweepId}/units`]);
    units = page.items;
    expect(units.map(({ agentId, score }) => [agentId, score]).sort()).toEqual([
      ['nop', 0],
      ['oracle', 1],
    ]);
    const report = await fetch(sweep.reportUrl ?? '');
    expect(await report.text()).toContain('outside/copy');
  });

  it('gives each record under links, whole and as it was written; what it cost only to who may see that', async () => {
    expect(units.length).toBeGreaterThan(0);
    for (const { unitId } of units) {
      const unit = await ask(UnitDetailSchema, 'finance', ['GET', `/units/${unitId}`]);
      expect(unit).toMatchObject({ class: 'scored', attempts: 1, waitsFor: null });
      const folder = path.join(api.folder, 'fetched', unitId);
      const names = await fetchRecord(unit, folder);
      expect(names).toEqual(expect.arrayContaining(['record.json', 'run.json', 'events.jsonl', 'cost.json']));
      expect(await verifyRunFolder(folder)).toEqual([]);
      const seen = await ask(UnitDetailSchema, 'viewer', ['GET', `/units/${unitId}`]);
      expect(seen.attemptList[0]?.files.map(({ path: name }) => name)).not.toContain('cost.json');
    }
  });

  it('grades again what was collected', async () => {
    const unitId = units.find(({ agentId }) => agentId === 'oracle')?.unitId ?? '';
    const regrade = await ask(RegradeSchema, 'operator', ['POST', `/units/${unitId}/regrade`]);
    expect(regrade).toMatchObject({ unitId, gradeNumber: 2 });
    let grades: UnitDetail['attemptList'][number]['grades'] = [];
    while (grades.length < 2) {
      const unit = await ask(UnitDetailSchema, 'viewer', ['GET', `/units/${unitId}`]);
      grades = unit.attemptList[0]?.grades ?? [];
      await sleep(100);
    }
    expect(grades).toMatchObject([
      { number: 1, kind: 'graded', score: 1 },
      { number: 2, kind: 'graded', score: 1 },
    ]);
  });

  it('adds up what attempts cost, for finance alone', async () => {
    const costs = await ask(CostsSchema, 'finance', ['GET', '/costs?groupBy=agent']);
    expect(costs.rows.map(({ key }) => key).sort()).toEqual(['nop', 'oracle']);
    expect(costs.total.attempts).toBe(2);
    expect((await api.call('operator', 'GET', '/costs')).status).toBe(403);
    expect((await api.call('finance', 'POST', '/sweeps', startBody())).status).toBe(403);
    expect((await api.call('nobody', 'GET', '/sweeps')).status).toBe(403);
  });

  it('holds a sweep, lets it go on, and cancels it', async () => {
    const body = startBody({ agents: [{ agentId: 'nop' }], trials: 6, limits: { concurrency: 1 } });
    const started = await ask(StartedSweepSchema, 'operator', ['POST', '/sweeps', body]);
    const at = `/sweeps/${started.sweepId ?? ''}`;
    expect(await ask(SweepSummarySchema, 'operator', ['POST', `${at}/pause`])).toMatchObject({ paused: true });
    let sweep = await ask(SweepDetailSchema, 'viewer', ['GET', at]);
    while (sweep.status === 'accepted' || sweep.runningUnits > 0) {
      await sleep(100);
      sweep = await ask(SweepDetailSchema, 'viewer', ['GET', at]);
    }
    expect(sweep).toMatchObject({ status: 'running', paused: true, closedAt: null });
    expect(await ask(SweepSummarySchema, 'operator', ['POST', `${at}/resume`])).toMatchObject({ paused: false });
    expect(await ask(SweepSummarySchema, 'operator', ['POST', `${at}/cancel`])).toMatchObject({ cancelled: true });
    const over = await ended(started.sweepId ?? '');
    expect(over).toMatchObject({ status: 'closed', cancelled: true, plannedUnits: 6 });
    expect(over.ledger?.notRun.cancelled ?? 0).toBeGreaterThan(0);
    expect((await api.call('operator', 'POST', `${at}/pause`)).status).toBe(409);
  });
});
