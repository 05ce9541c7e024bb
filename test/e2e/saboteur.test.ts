import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { FILL_DISK, TRICKS, trickLaunch, type Trick } from '#test/builders/saboteur-tricks';
import { tier } from '#test/runner/tier';
import { endAllCli } from './cli-process.ts';
import { testGround, writeAgent, writeTask } from './experiment-files.ts';
import { leftoversOf, NOTHING } from './leftovers.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const TASK = 'e2e/word';

/** A sweep may try each unit three times; everything a trick may earn by itself is one. */
const MORE = 'max_attempts: 3\n';

function saidIn(swept: SweptExperiment, { id }: Trick): string {
  const folder = path.join(swept.folder(id, TASK), 'origin_log', id.replaceAll('-', '_'), 'console');
  return readFileSync(path.join(folder, 'stdout'), 'utf8').slice(0, 20_000);
}

async function expectOneAttempt(swept: SweptExperiment, trick: Trick): Promise<void> {
  expect(swept.unit(trick.id, TASK)).toMatchObject({ status: trick.outcome, attempts: 1, score: 0 });
  const record = swept.record(trick.id, TASK);
  expect(record.isolation).toMatchObject({ kind: 'namespaces' });
  expect(record.verdict).toMatchObject({ blame: 'agent', retry: false });
  expect(record.outcome).toMatchObject({ kind: trick.outcome });
  expect(await verifyRunFolder(swept.folder(trick.id, TASK))).toEqual([]);
}

tier('isolation')('a saboteur behind walls', () => {
  const ground = testGround();
  const swept = later<SweptExperiment>();
  const clock = { before: 0, wall: 0 };

  beforeAll(async () => {
    writeTask(ground, TASK);
    for (const trick of TRICKS)
      writeAgent(ground, trick.id, trickLaunch(trick), { timeoutSeconds: trick.wallSeconds, outputLimitMiB: 1 });
    clock.before = Date.now() - performance.now();
    const agents = TRICKS.map(({ id }) => id);
    swept.set(await sweep(ground, { name: 'saboteur', agents, tasks: [[TASK, [0]]], more: MORE }));
    clock.wall = Date.now() - performance.now();
  });

  afterAll(async () => {
    await endAllCli();
    ground.remove();
  });

  it('has at least eight tricks', () => {
    expect(new Set(TRICKS.map(({ id }) => id)).size).toBeGreaterThanOrEqual(8);
  });

  it.each(TRICKS.map((trick) => [trick.aim, trick] as const))(
    'earns no other attempt when it tries to %s',
    async (_aim, trick) => {
      await expectOneAttempt(swept.get(), trick);
    },
  );

  it.each(TRICKS.map((trick) => [trick.aim, trick] as const))(
    'leaves in its record what became of trying to %s',
    (_aim, trick) => {
      const said = saidIn(swept.get(), trick);
      expect(said).toMatch(new RegExp(`^(?:.*\\n)*trick ${trick.id}: (?:done|refused) \\(`, 'u'));
      expect(said).toMatch(trick.said);
      expect(said).not.toContain('not tried');
    },
  );

  it('has changed nothing of the host, and nothing of it is left', () => {
    const { treeRoot, run } = swept.get();
    expect(run.executionStatus).toBe('SUCCEEDED');
    expect(Math.abs(clock.wall - clock.before)).toBeLessThan(3_600_000);
    expect(leftoversOf(ground.folder, treeRoot, [])).toEqual(NOTHING);
  });
});

tier('isolation')('a saboteur that fills the disk of its sandbox', () => {
  const ground = testGround();
  const swept = later<SweptExperiment>();
  const sandboxes = path.join(ground.folder, 'out/full/.examhall/sandboxes');

  beforeAll(async () => {
    writeTask(ground, TASK);
    writeAgent(ground, FILL_DISK.id, trickLaunch(FILL_DISK), { timeoutSeconds: FILL_DISK.wallSeconds });
    mkdirSync(sandboxes, { recursive: true, mode: 0o700 });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,nr_inodes=4096,mode=0700', 'examhall-test', sandboxes]);
    swept.set(await sweep(ground, { name: 'full', agents: [FILL_DISK.id], tasks: [[TASK, [0]]], more: MORE }));
  });

  afterAll(async () => {
    await endAllCli();
    if (existsSync(sandboxes)) execFileSync('umount', ['-l', sandboxes]);
    ground.remove();
  });

  it('has ended its own run, and its record says so', async () => {
    const { unit, record, folder, run } = swept.get();
    expect(run.executionStatus).toBe('SUCCEEDED');
    expect(unit(FILL_DISK.id, TASK)).toMatchObject({ attempts: 1 });
    expect(record(FILL_DISK.id, TASK).verdict).toMatchObject({ blame: 'agent', retry: false });
    expect(await verifyRunFolder(folder(FILL_DISK.id, TASK))).toEqual([]);
  });
});

describe('the tricks', () => {
  it('each say what they are after, under a name of their own', () => {
    const all = [...TRICKS, FILL_DISK];
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(new Set(all.map(({ aim }) => aim)).size).toBe(all.length);
  });
});
