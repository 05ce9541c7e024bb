import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { openServedApi, type Caller, type ServedApi } from '#test/builders/served-api';
import { endAllCli, examhall, startExamhall, type CliEnd } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const records = path.join(ground.folder, 'records');
let api: ServedApi;
let experiment = '';
let sweepId = '';
let unitId = '';

function envOf(caller: Caller): Record<string, string> {
  return {
    EXAMHALL_HOST: api.serving.baseUrl,
    EXAMHALL_TOKEN: api.tokenOf(caller),
    XDG_STATE_HOME: path.join(ground.folder, 'state'),
  };
}

/** A command against the host, as one of its callers. */
async function asCaller(caller: Caller, ...args: readonly string[]): Promise<CliEnd> {
  return await examhall(args, { env: envOf(caller), cwd: ground.folder });
}

async function jsonOf<Value>(schema: z.ZodType<Value>, caller: Caller, ...args: readonly string[]): Promise<Value> {
  const { code, stdout, stderr } = await asCaller(caller, ...args, '--json');
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return schema.parse(JSON.parse(stdout));
}

beforeAll(async () => {
  writeTask(ground, 'e2e/word');
  experiment = writeExperiment(ground, { name: 'remote', agents: ['oracle', 'nop'], tasks: [['e2e/word', [0]]] });
  api = await openServedApi();
});

afterAll(async () => {
  await endAllCli();
  await api.close();
  ground.remove();
});

describe('the command line against a host', () => {
  it('is refused by name where its role does not reach, before anything has changed', async () => {
    const { code, stderr } = await asCaller('viewer', 'tasks', 'publish', path.join(ground.tasks, 'e2e/word'));
    expect(code).toBe(2);
    expect(stderr).toContain('one of the roles publisher, admin');
    const nobody = await asCaller('nobody', 'status');
    expect(nobody).toMatchObject({ code: 2, stdout: '' });
  });

  it('names what is not published at its place in the experiment', async () => {
    const { code, stderr } = await asCaller('operator', 'run', experiment);
    expect(code).toBe(2);
    expect(stderr).toMatch(/experiment\.yaml:\d+:\d+: the host refuses "tasks\[0\]/u);
  });

  it('publishes a task, and uploads nothing the second time', async () => {
    const folder = path.join(ground.tasks, 'e2e/word');
    const Published = z.object({
      published: z.array(z.object({ id: z.string(), uploadedFiles: z.int(), error: z.null() })),
    });
    const first = await jsonOf(Published, 'publisher', 'tasks', 'publish', folder);
    expect(first.published).toMatchObject([{ id: 'e2e/word' }]);
    expect(first.published[0]?.uploadedFiles).toBeGreaterThan(0);
    expect((await jsonOf(Published, 'publisher', 'tasks', 'publish', folder)).published).toMatchObject([
      { uploadedFiles: 0 },
    ]);
    const { stdout } = await asCaller('viewer', 'tasks', 'list');
    expect(stdout).toContain('e2e/word');
  });

  it('plans without starting, and then starts and follows to the end', async () => {
    const Started = z.object({ sweepId: z.string().nullable(), plannedUnits: z.int() });
    expect(await jsonOf(Started, 'operator', 'run', experiment, '--dry-run')).toEqual({
      sweepId: null,
      plannedUnits: 2,
    });
    expect((await jsonOf(z.object({ sweeps: z.array(z.unknown()) }), 'viewer', 'status')).sweeps).toEqual([]);
    const ended = await asCaller('operator', 'run', experiment, '--watch', '--json');
    expect(ended.code).toBe(0);
    const Ended = z.object({
      sweep: z.object({ sweepId: z.string(), status: z.string() }),
      units: z.array(z.object({ unitId: z.string(), score: z.number() })),
    });
    const { sweep, units } = Ended.parse(JSON.parse(ended.stdout));
    expect(sweep.status).toBe('closed');
    expect(units.map(({ score }) => score).toSorted()).toEqual([0, 1]);
    sweepId = sweep.sweepId;
    unitId = units.find(({ score }) => score === 1)?.unitId ?? '';
    expect(ended.stderr).toContain('2 planned = 2 scored');
  });

  it('shows the sweep, its units and why one waits for nothing; costs to finance alone', async () => {
    expect((await asCaller('viewer', 'status', sweepId)).stdout).toContain('2 planned = 2 scored');
    expect((await asCaller('viewer', 'units', sweepId, '--agent', 'oracle')).stdout).toMatch(
      /scored {2}completed +1\.0000[\s\S]*1 units/u,
    );
    expect((await asCaller('viewer', 'why', unitId)).stdout).toContain('waits for nothing: it closed');
    expect((await asCaller('viewer', 'costs')).code).toBe(2);
    const csv = (await asCaller('finance', 'costs', '--by', 'agent', '--csv')).stdout.split('\r\n');
    expect(csv.map((line) => line.split(',')[0])).toEqual(['agent', 'nop', 'oracle', 'total', '']);
  });

  it('prints the events of a unit', async () => {
    const { code, stdout } = await asCaller('viewer', 'logs', unitId);
    expect(code).toBe(0);
    expect(stdout).toMatch(/run_started[\s\S]*run_completed/u);
  });

  it('brings the records, and they verify offline', async () => {
    const { code, stdout } = await asCaller('admin', 'fetch', sweepId, records);
    expect({ code, told: stdout.split('\n').at(-2) }).toEqual({
      code: 0,
      told: '2 records of 2 units; 0 units are open',
    });
    const folders = recordFolders(records);
    expect(folders).toHaveLength(2);
    expect((await asCaller('nobody', 'verify', ...folders)).code).toBe(0);
    expect(readFileSync(path.join(folders[0] ?? '', 'cost.json'), 'utf8')).toContain('parts');
  });

  it('brings no amounts to whoever may not see costs, and says so', async () => {
    const { code, stdout } = await asCaller('viewer', 'fetch', unitId, path.join(ground.folder, 'without-costs'));
    expect(code).toBe(0);
    expect(stdout).toContain('cost.json needs role finance or admin');
    expect(
      readdirSync(path.join(ground.folder, 'without-costs'), { recursive: true }).filter((each) =>
        String(each).endsWith('cost.json'),
      ),
    ).toEqual([]);
  });

  it('regrades, and says what a closed sweep cannot do', async () => {
    const { code, stdout } = await asCaller('operator', 'regrade', unitId, '--wait');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${unitId}.1: grade 2 is 1\n` });
    const late = await asCaller('operator', 'pause', sweepId);
    expect(late.code).toBe(2);
    expect(late.stderr).toContain('StateConflictError');
  });

  it('leaves the record as it was when it regrades', async () => {
    const again = path.join(ground.folder, 'after-regrade');
    expect((await asCaller('admin', 'fetch', unitId, again)).stdout).not.toContain('damaged');
    expect((await asCaller('nobody', 'verify', ...recordFolders(again))).code).toBe(0);
  });

  const printsJson: readonly (readonly [caller: Caller, key: string, args: () => readonly string[]])[] = [
    ['viewer', 'units', () => ['units', sweepId]],
    ['viewer', 'waitsFor', () => ['why', unitId]],
    ['finance', 'rows', () => ['costs', '--by', 'blame']],
    ['admin', 'folder', () => ['fetch', unitId, path.join(ground.folder, 'as-json')]],
    ['operator', 'grade', () => ['regrade', unitId, '--wait']],
    ['viewer', 'agents', () => ['agents', 'list']],
    ['viewer', 'tasks', () => ['tasks', 'list']],
    ['viewer', 'sweep', () => ['watch', sweepId]],
    ['viewer', 'checks', () => ['deploy-check']],
  ];

  it.each(printsJson.map(([caller, key, args]) => ({ caller, key, args })))(
    'prints one JSON object with $key and nothing else',
    async ({ caller, key, args }) => {
      const printed = await jsonOf(z.record(z.string(), z.unknown()), caller, ...args());
      expect(Object.keys(printed)).toContain(key);
    },
  );

  it('prints the events of a unit as JSON, one a line', async () => {
    const { code, stdout } = await asCaller('viewer', 'logs', unitId, '--json');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    const types = lines.map((line) => z.looseObject({ type: z.string() }).parse(JSON.parse(line)).type);
    expect(types).toContain('run_completed');
  });

  it('prints nothing as JSON when the prices cannot be read, and says why', async () => {
    const nowhere = path.join(ground.folder, 'no-such-file');
    const { code, stdout, stderr } = await examhall(['prices', 'refresh', '--dry-run', '--json'], {
      env: { AWS_CONFIG_FILE: nowhere, AWS_SHARED_CREDENTIALS_FILE: nowhere, AWS_EC2_METADATA_DISABLED: 'true' },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('nothing was written: give credentials that may call pricing:GetProducts');
  });

  it('publishes an agent, pauses, resumes and cancels a sweep of it, and looks on until it is closed', async () => {
    writeAgent(ground, 'slow', 'await new Promise((resolve) => setTimeout(resolve, 100_000));');
    expect((await asCaller('publisher', 'agents', 'publish', path.join(ground.agents, 'slow'))).code).toBe(0);
    const { sweepId: running } = await jsonOf(z.object({ sweepId: z.string() }), 'operator', 'run', slowExperiment());
    const Sweep = z.object({ status: z.string(), paused: z.boolean(), cancelled: z.boolean() });
    expect(await jsonOf(Sweep, 'operator', 'pause', running)).toMatchObject({ paused: true, cancelled: false });
    expect(await jsonOf(Sweep, 'operator', 'resume', running)).toMatchObject({ paused: false, cancelled: false });
    const Sandboxes = z.object({ sandboxes: z.array(z.object({ owner: z.string(), sweepId: z.string().nullable() })) });
    let seen: z.infer<typeof Sandboxes>['sandboxes'] = [];
    for (let looks = 0; looks < 60 && seen.length === 0; looks += 1)
      seen = (await jsonOf(Sandboxes, 'viewer', 'sandboxes')).sandboxes;
    expect(seen).toEqual([{ owner: 'attempt', sweepId: running }]);
    const looksOn = startExamhall(['watch', running], { env: envOf('viewer'), cwd: ground.folder });
    await looksOn.printed('1 units planned');
    process.kill(looksOn.pid, 'SIGINT');
    const left = await looksOn.ended;
    expect(left.code).toBe(130);
    expect(left.stderr).toContain(`${running} goes on without you`);
    expect(await jsonOf(Sweep, 'viewer', 'status', running)).toMatchObject({ status: 'running', cancelled: false });
    expect(await jsonOf(Sweep, 'operator', 'cancel', running)).toMatchObject({ cancelled: true });
    const { code, stdout, stderr } = await asCaller('viewer', 'watch', running);
    expect({ code, isClosed: stderr.includes(`${running}: closed (cancelled)`) }).toEqual({ code: 1, isClosed: true });
    expect(stdout).toContain('1 planned = 1 ');
  });

  it('stops every sweep that is open, for an operator who means it, and looks on until nothing is left', async () => {
    const { sweepId: running } = await jsonOf(z.object({ sweepId: z.string() }), 'operator', 'run', slowExperiment());
    expect((await asCaller('viewer', 'stop', '--all', '--yes')).code).toBe(2);
    expect((await asCaller('operator', 'stop', '--all')).stderr).toContain('--yes');
    const Stopped = z.object({ sweeps: z.array(z.unknown()), left: z.array(z.unknown()) });
    expect(await jsonOf(Stopped, 'operator', 'stop', '--all', '--yes')).toMatchObject({
      sweeps: [{ sweepId: running, result: 'cancelled' }],
      left: [],
    });
  });

  it('says what the reaper would do to an operator alone, and forwards no screen that is not there', async () => {
    const dry = await asCaller('operator', 'sandboxes', 'reap', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stdout: 'dry run: the reaper would do this\n0 to note or end, 0 to keep\n' });
    expect((await asCaller('viewer', 'sandboxes', 'reap', '--dry-run')).code).toBe(2);
    const none = await asCaller('viewer', 'sandboxes', 'open', 'i-none');
    expect(none.code).toBe(2);
    expect(none.stderr).toContain('no such sandbox');
  });
});

function recordFolders(below: string): readonly string[] {
  return readdirSync(below, { recursive: true })
    .map(String)
    .filter((each) => path.basename(each) === 'record.json')
    .map((each) => path.join(below, path.dirname(each)));
}

function slowExperiment(): string {
  return writeExperiment(ground, { name: 'slow', agents: ['slow'], tasks: [['e2e/word', [0]]] });
}
