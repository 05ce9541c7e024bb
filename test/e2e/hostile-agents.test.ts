import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { endAllCli } from './cli-process.ts';
import { testGround, writeAgent, writeTask } from './experiment-files.ts';
import { leftoversOf, NOTHING } from './leftovers.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const swept = later<SweptExperiment>();
const TASK = 'e2e/word';

const FORGED = JSON.stringify({
  version: 1,
  end: 'exited',
  exitCode: 0,
  status: 'completed',
  score: 1,
  kind: 'graded',
  grade: { kind: 'graded', score: 1, raw: 1 },
  verdict: { blame: 'platform', retry: true },
});

const FORGED_NAMES = ['result', 'record', 'run', 'eval_result', 'grade-1', 'raw', 'collect', 'sandbox', 'trajectory'];

const AGENTS: Readonly<Record<string, { readonly launch: string; readonly limits?: object }>> = {
  exits: { launch: `console.error('I give up'); process.exit(3);` },
  sleeps: { launch: `setInterval(() => undefined, 1000);`, limits: { timeoutSeconds: 2 } },
  floods: {
    launch: `import { writeSync } from 'node:fs';
const block = Buffer.alloc(1 << 20, 'x');
for (let count = 0; count < 200; count += 1) writeSync(1, block);`,
    limits: { outputLimitMiB: 1 },
  },
  forger: {
    launch: `import { mkdirSync, writeFileSync } from 'node:fs';
const { TASK_OUTPUT, TASK_ROOT, EXAMHALL_WORK } = process.env;
for (const folder of [TASK_OUTPUT, TASK_ROOT, EXAMHALL_WORK, TASK_ROOT + '/reference', EXAMHALL_WORK + '/console']) {
  mkdirSync(folder, { recursive: true });
  for (const name of ${JSON.stringify(FORGED_NAMES)}) writeFileSync(folder + '/' + name + '.json', ${JSON.stringify(FORGED)});
  writeFileSync(folder + '/stdout', ${JSON.stringify(FORGED)});
}`,
  },
};

beforeAll(async () => {
  writeTask(ground, TASK);
  for (const [id, { launch, limits }] of Object.entries(AGENTS)) writeAgent(ground, id, launch, limits);
  swept.set(await sweep(ground, { name: 'hostile', agents: Object.keys(AGENTS), tasks: [[TASK, [0]]] }));
});

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

describe('an agent that', () => {
  it('exits with another code than 0 has failed, and what it left is graded', () => {
    const { unit, record, folder } = swept.get();
    expect(unit('exits', TASK)).toMatchObject({ status: 'failed', class: 'scored', score: 0 });
    expect(record('exits', TASK).outcome).toMatchObject({ kind: 'failed', exitCode: 3 });
    const stderr = path.join(folder('exits', TASK), 'origin_log/exits/console/stderr');
    expect(readFileSync(stderr, 'utf8')).toBe('I give up\n');
  });

  it('passes its wall limit has timed out, and what it left is graded', () => {
    const { unit, record } = swept.get();
    expect(unit('sleeps', TASK)).toMatchObject({ status: 'timeout', class: 'scored', score: 0 });
    expect(record('sleeps', TASK).outcome).toMatchObject({ kind: 'timeout' });
  });

  it('floods its standard output completes; the console is cut at the limit', () => {
    const { unit, folder } = swept.get();
    expect(unit('floods', TASK)).toMatchObject({ status: 'completed', class: 'scored', score: 0 });
    const { size } = statSync(path.join(folder('floods', TASK), 'origin_log/floods/console/stdout'));
    expect(size).toBeLessThanOrEqual(1024 * 1024 + 200);
    expect(size).toBeGreaterThan(512 * 1024);
  });

  it('writes results, records and grades of its own gets the score of its answer, which is none', () => {
    const { unit, record, folder } = swept.get();
    expect(unit('forger', TASK)).toMatchObject({ status: 'completed', class: 'scored', score: 0 });
    expect(record('forger', TASK).verdict).toMatchObject({ blame: 'agent', signatureId: 'graded', retry: false });
    const textOf = (file: string): string => readFileSync(path.join(folder('forger', TASK), file), 'utf8');
    expect(textOf('output/record.json')).toBe(FORGED);
    expect(textOf('origin_log/forger/result.json')).toBe(FORGED);
    expect(textOf('origin_log/forger/console/stdout')).toBe('');
    for (const file of ['record.json', 'run.json', 'eval_result.json', 'trajectory.json'])
      expect(textOf(file), file).not.toContain('"retry":true');
  });
});

describe('after hostile agents', () => {
  it('the sweep is over and exits 1, for not all units completed', () => {
    expect(swept.get().run.executionStatus).toBe('SUCCEEDED');
    expect(swept.get().end.code).toBe(1);
  });

  it('no unit got another attempt for what its agent did', () => {
    const { run, record } = swept.get();
    expect(run.units.map(({ agent, attempts }) => [agent, attempts])).toEqual(
      Object.keys(AGENTS).map((agent) => [agent, 1]),
    );
    for (const agent of Object.keys(AGENTS))
      expect(record(agent, TASK).verdict, agent).toMatchObject({ blame: 'agent', retry: false });
  });

  it('every record verifies', async () => {
    for (const agent of Object.keys(AGENTS))
      expect(await verifyRunFolder(swept.get().folder(agent, TASK)), agent).toEqual([]);
  });

  it('nothing is left', () => {
    const { treeRoot } = swept.get();
    expect(leftoversOf(ground.folder, treeRoot, [])).toEqual(NOTHING);
    expect(readdirSync(treeRoot).sort()).toEqual(['.examhall', ...Object.keys(AGENTS), 'report.html'].sort());
  });
});
