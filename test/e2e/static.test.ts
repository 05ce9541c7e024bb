import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';
import { tier } from '#test/runner/tier';
import { openRealServer, type RealServer } from '#test/unit/adapters/real-desktop';
import { endAllCli, examhall } from './cli-process.ts';
import { testGround, type TestGround } from './experiment-files.ts';
import { recordOf, runOutput, unitOf } from './json-output.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

interface StaticExperiment {
  readonly endpoint: string;
  readonly agents: readonly string[];
  readonly tasks: readonly string[];
  readonly concurrency?: number;
}

/** An experiment on a machine that is given by its address, in upstream's single-provider shape. */
function writeStatic(ground: TestGround, { endpoint, agents, tasks, concurrency = 1 }: StaticExperiment): string {
  for (const agent of agents) ground.write(`static/${agent}.yaml`, `harness: ${agent}\n`);
  ground.write(
    'static/environment.yaml',
    `provider: static\nendpoint: ${endpoint}\nimage: ale-ubuntu22\ncleanup_on_release: true\n` +
      `cleanup_script: echo released >>${path.join(ground.folder, 'cleaned')}\noutput_path: local\n`,
  );
  const privilege = process.getuid?.() === 0 ? 'upstream' : 'restricted';
  return ground.write(
    'static/experiment.yaml',
    `name: given\nagents: [${agents.map((agent) => `${agent}.yaml`).join(', ')}]\nenvironment: environment.yaml\n` +
      `tasks: [${tasks.map((task) => `{path: ${task}, variants: [0]}`).join(', ')}]\nprivilege: ${privilege}\n` +
      `output: {root: ${path.join(ground.folder, 'out')}}\nconcurrency: ${concurrency}\n`,
  );
}

describe('examhall run on a machine given by the address of its server', () => {
  const ground = testGround();
  const home = path.join(ground.folder, 'machine-home');
  let server: FakeCuaServer;
  beforeAll(async () => {
    mkdirSync(home);
    server = await startFakeCuaServer({ env: { HOME: home } });
  });
  afterAll(async () => {
    await endAllCli();
    await server.close();
    ground.remove();
  });

  it('stages, runs, collects and grades by its server alone, and leaves the machine as it was', async () => {
    const tasks = ['life_sciences/plate_reader_qc', 'business_finance/form_1040'];
    const experiment = writeStatic(ground, { endpoint: server.url, agents: ['oracle', 'scripted'], tasks });
    const end = await examhall(['run', experiment, '--json'], { timeoutSeconds: 280 });
    expect(end.code, end.stderr + end.stdout).toBe(0);
    const output = runOutput(end);
    for (const task of tasks) {
      expect(unitOf(output, 'oracle', task)).toMatchObject({ status: 'completed', score: 1 });
      expect(unitOf(output, 'scripted', task)).toMatchObject({ status: 'completed', class: 'scored' });
      expect(recordOf(output, unitOf(output, 'scripted', task))).toMatchObject({
        lock: { shape: { value: { provider: 'static' } } },
        isolation: { kind: 'none', reason: expect.stringContaining('was given, not made') as string },
      });
    }
    expect(readdirSync(home)).toEqual([]);
    expect(readFileSync(path.join(ground.folder, 'cleaned'), 'utf8')).toBe('released\n'.repeat(4));
  });

  it('is refused before anything starts when two units would share the machine', async () => {
    const tasks = ['life_sciences/plate_reader_qc'];
    const experiment = writeStatic(ground, { endpoint: server.url, agents: ['nop'], tasks, concurrency: 2 });
    const end = await examhall(['run', experiment]);
    expect([end.code, end.stderr]).toEqual([2, expect.stringContaining('which is one machine') as string]);
  });
});

tier('desktop')('examhall run on a machine with the real server', () => {
  const ground = testGround();
  let real: RealServer;
  beforeAll(async () => {
    real = await openRealServer();
  });
  afterAll(async () => {
    await endAllCli();
    await real.close();
    ground.remove();
  });

  it.each(['life_sciences/plate_reader_qc', 'demo/hello'])('solves %s there as anywhere', async (task) => {
    const experiment = writeStatic(ground, { endpoint: real.url, agents: ['oracle', 'scripted'], tasks: [task] });
    const end = await examhall(['run', experiment, '--json'], { timeoutSeconds: 280 });
    expect(end.code, end.stderr + end.stdout).toBe(0);
    const output = runOutput(end);
    expect(unitOf(output, 'oracle', task)).toMatchObject({ status: 'completed', score: 1 });
    const unit = unitOf(output, 'scripted', task);
    expect(unit).toMatchObject({ status: 'completed', class: 'scored' });
    expect(await verifyRunFolder(path.join(output.output, unit.runDir ?? ''))).toEqual([]);
    expect(recordOf(output, unit)).toMatchObject({ isolation: { kind: 'none' } });
  });
});
