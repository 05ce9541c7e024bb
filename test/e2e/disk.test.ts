import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, rmSync, writeSync, closeSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { tier } from '#test/runner/tier';
import { endAllCli, examhall, startExamhall } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';
import { runOutput } from './json-output.ts';
import { leftoversOf } from './leftovers.ts';
import { runFoldersOf } from './run-tree-reading.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const TASK = 'e2e/word';
const disk = path.join(ground.folder, 'disk');
const treeRoot = path.join(disk, 'disk');
const mounted: string[] = [];

function mount(...args: readonly string[]): void {
  execFileSync('mount', [...args, disk]);
  if (!mounted.includes(disk)) mounted.push(disk);
}

function unmount(): void {
  while (mounted.pop() !== undefined) execFileSync('umount', ['-l', disk]);
}

/** Writes until the disk takes no more. */
function fillDisk(): string {
  const file = path.join(disk, 'filler');
  const handle = openSync(file, 'w');
  try {
    for (const size of [1 << 20, 4096, 1]) while (isWritten(handle, size));
  } finally {
    closeSync(handle);
  }
  return file;
}

function isWritten(handle: number, size: number): boolean {
  try {
    return writeSync(handle, Buffer.alloc(size)) > 0;
  } catch {
    return false;
  }
}

function experiment(agents: readonly string[]): string {
  return writeExperiment(ground, { name: 'disk', agents, tasks: [[TASK, [0, 1]]], outputRoot: disk });
}

tier('isolation')('a disk that holds the runs and', () => {
  beforeAll(() => {
    mkdirSync(disk);
    writeTask(ground, TASK, { variants: ['one', 'two'] });
    writeAgent(ground, 'patient', 'setTimeout(() => process.exit(0), 1500);');
  });

  afterEach(async () => {
    await endAllCli();
    unmount();
  });

  afterAll(() => {
    ground.remove();
  });

  it('has no room at all ends the run with 3, the path and what to do', async () => {
    mount('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs');
    const end = await examhall(['run', experiment(['nop']), ...ground.folderArgs, '--json']);
    expect(end).toMatchObject({ code: 3, stdout: '' });
    expect(end.stderr).toContain(`StorageFullError: no space is left to write ${treeRoot}`);
    expect(end.stderr).toContain('free space on its disk or name another folder, and run again');
    expect(end.stderr).not.toMatch(/^\s+at /mu);
    expect(leftoversOf(disk, treeRoot, [])).toMatchObject({ processes: [], sandboxes: [], heldUids: [] });
  });

  it('fills up while a sweep runs ends it, blames no agent, and lets it go on when there is room again', async () => {
    mount('-t', 'tmpfs', '-o', 'size=24m', 'tmpfs');
    const before = runOutput(await examhall(['run', experiment(['nop']), ...ground.folderArgs, '--json']));
    expect(before.units.map(({ status }) => status)).toEqual(['completed', 'completed']);

    const file = experiment(['nop', 'patient']);
    const cli = startExamhall(['run', file, ...ground.folderArgs]);
    const sandboxes = path.join(treeRoot, '.examhall/sandboxes');
    const jobs = (): string[] =>
      existsSync(sandboxes)
        ? readdirSync(sandboxes, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('~run'))
        : [];
    for (let waited = 0; waited < 2000 && jobs().length < 2; waited += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const filler = fillDisk();
    const full = await cli.ended;
    expect(full).toMatchObject({ code: 3, stdout: '' });
    expect(full.stderr).toContain(`StorageFullError: no space is left to write ${treeRoot}`);
    expect(leftoversOf(disk, treeRoot, []), full.stderr).toMatchObject({ processes: [], sandboxes: [], heldUids: [] });
    const kept = runFoldersOf(treeRoot).filter(({ status }) => status === 'completed');
    expect(kept).toHaveLength(2);
    for (const { path: folder } of kept) expect(await verifyRunFolder(folder)).toEqual([]);

    rmSync(filler);
    const end = await examhall(['run', file, ...ground.folderArgs, '--json']);
    expect(end.code, end.stderr).toBe(0);
    expect(runOutput(end).units.map(({ agent, status, attempts }) => [agent, status, attempts])).toEqual([
      ['nop', 'completed', 1],
      ['nop', 'completed', 1],
      ['patient', 'completed', 2],
      ['patient', 'completed', 2],
    ]);
    const folders = runFoldersOf(treeRoot);
    expect(folders).toHaveLength(6);
    for (const { path: folder } of folders) expect(await verifyRunFolder(folder), folder).toEqual([]);
  });

  it('is read-only ends the run with 3, the path and what to do; what lies there still verifies', async () => {
    const file = experiment(['nop']);
    rmSync(treeRoot, { recursive: true, force: true });
    mount('--bind', disk);
    mount('-o', 'remount,bind,ro');
    const first = await examhall(['run', file, ...ground.folderArgs, '--json']);
    expect(first).toMatchObject({ code: 3, stdout: '' });
    expect(first.stderr).toContain(`StorageReadOnlyError: ${treeRoot} cannot be written (EROFS)`);
    expect(first.stderr).toContain('make its folder writable for this user or name another folder');
    unmount();

    const done = runOutput(await examhall(['run', file, ...ground.folderArgs, '--json']));
    mount('--bind', disk);
    mount('-o', 'remount,bind,ro');
    const again = await examhall(['run', file, ...ground.folderArgs, '--json', '--disable-resume']);
    expect(again).toMatchObject({ code: 3, stdout: '' });
    expect(again.stderr).toContain('StorageReadOnlyError: ');
    const folders = done.units.map(({ runDir }) => path.join(treeRoot, runDir ?? '?'));
    const verified = await examhall(['verify', ...folders]);
    expect(verified).toMatchObject({ code: 0, stdout: folders.map((folder) => `${folder}: good\n`).join('') });
  });
});
