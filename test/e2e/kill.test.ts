import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { endAllCli, startExamhall, type CliEnd } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';
import { runOutput, type RunOutput } from './json-output.ts';
import { leftoversOf, NOTHING, uidsInUse } from './leftovers.ts';
import { runFoldersOf } from './run-tree-reading.ts';
import { MIXED_SWEEP } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/** The same moments each time; another number gives others. */
const SEED = Number(process.env['EXAMHALL_E2E_SEED'] ?? 20_261_130);
const KILLS_WHILE_PREPARING = 3;
const KILLS_WHILE_RUNNING = 9;
const KILLS = KILLS_WHILE_PREPARING + KILLS_WHILE_RUNNING;
const UNITS = 18;
const EMPTY_VARIANTS = Array.from({ length: 8 }, (_, index) => `v${String(index)}`);

const ground = testGround();
const treeRoot = path.join(ground.folder, 'out', 'killed');
const uids = new Set<number>();
const seen = {
  ends: [] as CliEnd[],
  last: undefined as RunOutput | undefined,
  lastEnd: undefined as CliEnd | undefined,
};

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Something that grows while a run goes on, whatever the speed of the computer. */
type Progress = () => number;

const filesStored: Progress = () => {
  try {
    return readdirSync(path.join(treeRoot, '.examhall'), { recursive: true }).length;
  } catch {
    return 0;
  }
};

/** Steps of units, without the waiting for a slot that each run begins with. */
const stepsLogged: Progress = () => {
  try {
    const folder = path.join(treeRoot, '.examhall/log');
    const text = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'));
    const steps = text.join('').match(/^.*"event":"function\.(?:started|finished)".*$/gmu) ?? [];
    return steps.filter((line) => !/"function":"(?:admit-unit|grant-slots)"/u.test(line)).length;
  } catch {
    return 0;
  }
};

/** Starts a run and kills it once its progress has grown by so much. */
async function killAfter(experiment: string, progress: Progress, growth: number): Promise<CliEnd> {
  const before = progress();
  const cli = startExamhall(['run', experiment], { timeoutSeconds: 300, main: MIXED_SWEEP });
  const over = { now: false };
  void cli.ended.then(() => (over.now = true));
  while (!over.now && progress() < before + growth) await new Promise((resolve) => setTimeout(resolve, 3));
  cli.kill();
  const end = await cli.ended;
  for (const uid of uidsInUse(treeRoot)) uids.add(uid);
  return end;
}

beforeAll(async () => {
  writeTask(ground, 'e2e/word');
  writeTask(ground, 'e2e/empty', { snapshot: 'nothing', variants: EMPTY_VARIANTS });
  writeAgent(
    ground,
    'slow',
    `import { spawn } from 'node:child_process';
spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
setTimeout(() => process.exit(0), 400);`,
  );
  const experiment = writeExperiment(ground, {
    name: 'killed',
    agents: ['slow', 'oracle'],
    tasks: [
      ['e2e/empty', EMPTY_VARIANTS.map((_, index) => index)],
      ['e2e/word', [0]],
    ],
    providers: { 'cpu-free-ubuntu': 'process', nothing: 'process' },
  });
  const random = randomNumbers(SEED);
  for (let kill = 0; kill < KILLS_WHILE_PREPARING; kill += 1)
    seen.ends.push(await killAfter(experiment, filesStored, 1 + Math.floor(random() * 40)));
  for (let kill = 0; kill < KILLS_WHILE_RUNNING; kill += 1)
    seen.ends.push(await killAfter(experiment, stepsLogged, 2 + Math.floor(random() * 45)));
  seen.lastEnd = await startExamhall(['run', experiment], { timeoutSeconds: 300, main: MIXED_SWEEP }).ended;
  seen.last = runOutput(seen.lastEnd);
});

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

describe('a sweep that was killed again and again, at moments that are always the same', () => {
  it('was killed at least twelve times before it was finished', () => {
    const killed = seen.ends.filter(({ code }) => code === null);
    expect(
      killed.length,
      seen.ends.map(({ code, stderr }) => `${String(code)}: ${stderr}`).join('\n'),
    ).toBeGreaterThanOrEqual(KILLS);
  });

  it('finishes when it is run again', () => {
    expect(seen.lastEnd?.code, seen.lastEnd?.stderr).toBe(0);
    expect(seen.last?.executionStatus).toBe('SUCCEEDED');
    expect(seen.last?.units).toHaveLength(UNITS);
    expect(seen.last?.units.map(({ status }) => status)).toEqual(Array<string>(UNITS).fill('completed'));
  });

  it('repeats no unit that was committed: each has exactly one completed run', () => {
    const completed = runFoldersOf(treeRoot).filter(({ status }) => status === 'completed');
    expect(completed).toHaveLength(UNITS);
    expect(new Set(completed.map(({ unitDir }) => unitDir)).size).toBe(UNITS);
    const named = seen.last?.units.map(({ runDir }) => path.join(treeRoot, runDir ?? '')).sort();
    expect(named).toEqual(completed.map((run) => run.path));
  });

  it('has closed what was open as host-restarted, each in a run folder of its own', () => {
    const others = runFoldersOf(treeRoot).filter(({ status }) => status !== 'completed');
    expect(others.length).toBeGreaterThan(0);
    for (const { path: folder } of others) {
      const record = JSON.parse(readFileSync(path.join(folder, 'record.json'), 'utf8')) as {
        readonly verdict: unknown;
        readonly error: unknown;
      };
      expect(record.verdict, folder).toMatchObject({
        blame: 'platform',
        signatureId: 'host-restarted',
        countsAsAttempt: false,
      });
      expect(record.error).toMatchObject({ name: 'HostRestartedError' });
    }
  });

  it('has a good record in every run folder', async () => {
    const folders = runFoldersOf(treeRoot);
    expect(folders.length).toBeGreaterThan(UNITS);
    for (const { path: folder } of folders) expect(await verifyRunFolder(folder), folder).toEqual([]);
  });

  it('has left no half-written file in a record', () => {
    const stray = runFoldersOf(treeRoot).flatMap(({ path: folder }) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
        /\.(?:writing|tmp|part)$/u.test(name),
      ),
    );
    expect(stray).toEqual([]);
  });

  it('has left nothing running, mounted or held', () => {
    expect(leftoversOf(ground.folder, treeRoot, [...uids])).toEqual(NOTHING);
  });

  it('says in progress which attempts it closed', () => {
    const closed = seen.ends.flatMap(
      ({ stderr }) => stderr.match(/^closed \S+: its host had ended \(host-restarted\)$/gmu) ?? [],
    );
    expect(new Set(closed).size).toBe(closed.length);
  });
});
