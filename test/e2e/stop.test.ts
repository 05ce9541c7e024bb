import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { endAllCli, examhall, startExamhall } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';
import { runOutput } from './json-output.ts';
import { leftoversOf, NOTHING, uidsInUse } from './leftovers.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const ground = testGround();
writeTask(ground, 'e2e/word');
writeAgent(ground, 'waits', `setTimeout(() => undefined, 240_000);`);

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

/** Resolves when a sandbox of the tree has a job of its agent. */
async function agentStarted(treeRoot: string): Promise<void> {
  for (;;) {
    const files = namesBelow(path.join(treeRoot, '.examhall/sandboxes'));
    if (files.some((name) => name.includes('~run'))) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function namesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch {
    return [];
  }
}

describe('a run that is told to stop', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s leaves no agent and no sandbox, and is gone on with later', async (signal, code) => {
    const name = `stopped-${signal.toLowerCase()}`;
    const treeRoot = path.join(ground.folder, 'out', name);
    const experiment = writeExperiment(ground, { name, agents: ['waits'], tasks: [['e2e/word', [0]]] });
    const cli = startExamhall(['run', experiment, ...ground.folderArgs]);
    await Promise.race([agentStarted(treeRoot), cli.ended]);
    const uids = uidsInUse(treeRoot);
    process.kill(cli.pid, signal);
    const end = await cli.ended;

    expect(end.stderr).toContain(`Stopped by ${signal}. Run the same command again to go on.`);
    expect(end.code).toBe(code);
    expect(leftoversOf(ground.folder, treeRoot, uids)).toEqual(NOTHING);

    writeAgent(ground, 'waits', `process.exit(0);`);
    const again = await examhall(['run', experiment, ...ground.folderArgs, '--json']);
    writeAgent(ground, 'waits', `setTimeout(() => undefined, 240_000);`);
    expect(again.stderr).toBe('');
    const { units } = runOutput(again);
    expect(units.map(({ status, attempts }) => ({ status, attempts }))).toEqual([{ status: 'completed', attempts: 2 }]);
  });
});

describe('a run that is told to stop before it has begun', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s ends with its code, leaves its folder unlocked, and can be run', async (signal, code) => {
    const name = `early-${signal.toLowerCase()}`;
    const treeRoot = path.join(ground.folder, 'out', name);
    const experiment = writeExperiment(ground, { name, agents: ['nop'], tasks: [['e2e/word', [0]]] });
    const cli = startExamhall(['run', experiment, ...ground.folderArgs]);
    // The lock is the first thing that an opening session makes; most of the opening comes behind it.
    const opening = async (): Promise<void> => {
      while (namesBelow(path.join(treeRoot, '.examhall')).length === 0)
        await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await Promise.race([opening(), cli.ended]);
    process.kill(cli.pid, signal);
    const end = await cli.ended;
    expect(end.stderr).toContain(`Stopped by ${signal}. Run the same command again to go on.`);
    expect(end.code).toBe(code);
    expect(leftoversOf(ground.folder, treeRoot, [])).toEqual(NOTHING);
    const { units } = runOutput(await examhall(['run', experiment, ...ground.folderArgs, '--json']));
    expect(units.map(({ status }) => status)).toEqual(['completed']);
  });
});

describe('an output folder that cannot be one', () => {
  it.each([
    ['a file', (): string => ground.write('a-file', '')],
    ['below a file', (): string => path.join(ground.write('a-file', ''), 'runs')],
    ['below /proc, where no folder can be made', (): string => '/proc/examhall-none'],
  ])('is bad input when it is %s', async (_, rootOf) => {
    const outputRoot = rootOf();
    const experiment = writeExperiment(ground, {
      name: 'nowhere',
      agents: ['waits'],
      tasks: [['e2e/word', [0]]],
      outputRoot,
    });
    const end = await examhall(['run', experiment, ...ground.folderArgs]);
    expect(end.stderr).toContain('the output folder ');
    expect(end.stderr).toContain(`got ${JSON.stringify(path.join(outputRoot, 'nowhere'))}`);
    expect(end.code).toBe(2);
  });
});

describe('verify', () => {
  it('tells a path that is no run folder from a run folder without a record', async () => {
    const other = ground.write('runs/one/run.json', '{}');
    mkdirSync(path.join(ground.folder, 'runs/two'));
    const asked = (record: string) => examhall(['verify', record]);
    expect(await asked(other)).toMatchObject({ code: 2, stdout: '' });
    expect(await asked(path.join(ground.folder, 'runs/three'))).toMatchObject({ code: 2, stdout: '' });
    expect(await asked(path.join(ground.folder, 'runs/two'))).toMatchObject({ code: 1 });
  });
});
