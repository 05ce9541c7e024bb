import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { tier } from '#test/runner/tier';
import { endAllCli } from './cli-process.ts';
import { testGround, writeAgent, writeTask } from './experiment-files.ts';
import { leftoversOf, NOTHING } from './leftovers.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const TASK = 'e2e/word';

/** Without walls the first would end the processes of whoever runs the tests, and the last fill their memory. */
const AGENTS: Readonly<Record<string, string>> = {
  parricide: `import { readdirSync } from 'node:fs';
for (const pid of [process.ppid, ...readdirSync('/proc').map(Number)])
  if (pid > 0 && pid !== process.pid) try { process.kill(pid, 'SIGKILL'); } catch {}
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100);`,
  daemons: `import { spawn } from 'node:child_process';
const loop = 'trap "" TERM HUP INT; while :; do sleep 1; done';
for (let count = 0; count < 5; count += 1)
  spawn('/bin/sh', ['-c', loop], { detached: true, stdio: 'ignore', env: {} }).unref();`,
  filler: `import { spawnSync } from 'node:child_process';
const { status } = spawnSync('/bin/sh', ['-c', 'dd if=/dev/zero of=/dev/shm/examhall-e2e-full bs=1M count=300'], { stdio: 'inherit' });
process.exit(status === 0 ? 0 : 1);`,
};

tier('isolation')('an agent behind walls that', () => {
  const ground = testGround();
  const swept = later<SweptExperiment>();

  beforeAll(async () => {
    writeTask(ground, TASK);
    for (const [id, launch] of Object.entries(AGENTS)) writeAgent(ground, id, launch);
    swept.set(await sweep(ground, { name: 'walled', agents: Object.keys(AGENTS), tasks: [[TASK, [0]]] }));
  });

  afterAll(async () => {
    await endAllCli();
    ground.remove();
  });

  it('runs behind them, as its record says', () => {
    for (const agent of Object.keys(AGENTS))
      expect(swept.get().record(agent, TASK).isolation, agent).toMatchObject({ kind: 'namespaces' });
  });

  it('kills its parent and all it can see has ended its own run', () => {
    const { unit, record } = swept.get();
    expect(unit('parricide', TASK)).toMatchObject({ status: 'failed', class: 'scored', score: 0 });
    expect(record('parricide', TASK).outcome).toMatchObject({ kind: 'failed' });
  });

  it('leaves daemons behind completes, and they are gone', () => {
    expect(swept.get().unit('daemons', TASK)).toMatchObject({ status: 'completed', class: 'scored', score: 0 });
    expect(leftoversOf(ground.folder, swept.get().treeRoot, [])).toEqual(NOTHING);
  });

  it('fills what it may fill has failed, and fills nothing of the host', () => {
    expect(swept.get().unit('filler', TASK)).toMatchObject({ status: 'failed', class: 'scored', score: 0 });
    expect(existsSync('/dev/shm/examhall-e2e-full')).toBe(false);
  });

  it('gets no other attempt, and its record verifies', async () => {
    const { run, record, folder } = swept.get();
    expect(run.executionStatus).toBe('SUCCEEDED');
    for (const { agent, attempts } of run.units) {
      expect(attempts, agent).toBe(1);
      expect(record(agent, TASK).verdict, agent).toMatchObject({ blame: 'agent', retry: false });
      expect(await verifyRunFolder(folder(agent, TASK)), agent).toEqual([]);
    }
  });
});
