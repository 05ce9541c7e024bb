import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  createReadStream,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFile,
  writeFileSync,
} from 'node:fs';
import { lstat, mkdir, readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ExamHallError } from '#core/errors';
import { readFinishedRun } from '#core/finished-run';
import { isRunFolderName, RUN_FILES, runFolderName } from '#core/run-tree';
import { storageError } from '#core/storage-error';
import { makeFolder } from '#local/stores/make-folder';
import type { ArtifactStore } from '#ports/artifact-store';
import type { FinishedRun, RunTree } from '#ports/run-tree';

type RunFile = Awaited<ReturnType<RunTree['list']>>[number];

/** Only the flush gives way to others: every other step on so little takes microseconds, and a thread pool longer. */
const flushToDisk = promisify(fdatasync);
const writeLarge = promisify(writeFile);
const SYNCHRONOUS_BYTES = 256 * 1024;

/** The run tree in a folder of this computer. It is the truth; every other store is an index of it. */
export function createDiskRunTree(treeRoot: string, artifacts: ArtifactStore): RunTree {
  const root = path.resolve(treeRoot);
  const inside = (folder: string, file?: string): string => {
    const base = path.resolve(root, folder);
    const full = file === undefined ? base : path.resolve(base, file);
    const isBelowRoot = base === root || base.startsWith(root + path.sep);
    const isWhole = !full.includes('\0');
    if (isWhole && isBelowRoot && (full === base || full.startsWith(base + path.sep))) return full;
    const seen = JSON.stringify(file === undefined ? folder : `${folder}/${file}`);
    throw new ExamHallError('UnsafePathError', `${seen} would lie outside the run tree or its own run folder`);
  };
  return {
    open: async (unitDir, stamp) => await guarded(root, () => openFolder(inside(unitDir), unitDir, stamp)),
    appendEvent: async (runDir, line) => {
      await guarded(root, () => appendLine(inside(runDir, RUN_FILES.events), line));
    },
    write: async (runDir, file, content) => {
      await guarded(root, () => writeWhole(inside(runDir, file), content));
    },
    copyObject: async (runDir, file, key) => {
      const target = inside(runDir, file);
      await guarded(root, () => artifacts.getFile({ bucket: 'artifacts', key }, target));
    },
    makeDir: async (runDir, folder) => {
      await guarded(root, async () => makeFolder(inside(runDir, folder)));
    },
    list: async (runDir) => {
      const base = inside(runDir);
      const files: RunFile[] = [];
      await guarded(root, async () => {
        for await (const file of filesBelow(base, '')) files.push(await describeFile(base, file));
      });
      return files.sort((one, other) => (one.path < other.path ? -1 : 1));
    },
    finished: async (unitDir) => await finishedRuns(inside(unitDir), unitDir),
  };
}

/** Turns a full or read-only disk into its named error. */
async function guarded<R>(root: string, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ExamHallError ? error : storageError(error, root);
  }
}

/** An empty folder of that stamp is one whose opening was broken off: whoever opens a folder writes to it at once. */
async function openFolder(folder: string, unitDir: string, stamp: string): Promise<string> {
  makeFolder(folder);
  for (let taken = 0; ; taken += 1) {
    const name = runFolderName(stamp, taken);
    try {
      await mkdir(path.join(folder, name));
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error;
      if ((await readdir(path.join(folder, name))).length > 0) continue;
    }
    return `${unitDir}/${name}`;
  }
}

/** A line is there whole or not at all. */
async function appendLine(file: string, line: string): Promise<void> {
  const target = openSync(file, 'a');
  try {
    const { size } = fstatSync(target);
    try {
      appendFileSync(target, `${line}\n`);
      await flushToDisk(target);
    } catch (error) {
      ftruncateSync(target, size);
      throw error;
    }
  } finally {
    closeSync(target);
  }
}

/** Temporary file, flush, rename: a reader sees the old file or the new one, and a failure leaves nothing else behind. */
async function writeWhole(file: string, content: Uint8Array | string): Promise<void> {
  makeFolder(path.dirname(file));
  const temporary = `${file}.writing`;
  try {
    await flush(temporary, content);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

async function flush(file: string, content: Uint8Array | string): Promise<void> {
  const target = openSync(file, 'w');
  try {
    if (content.length <= SYNCHRONOUS_BYTES) writeFileSync(target, content);
    else await writeLarge(target, content);
    await flushToDisk(target);
  } finally {
    closeSync(target);
  }
}

async function* filesBelow(base: string, relative: string): AsyncGenerator<string> {
  for (const entry of await readdir(path.join(base, relative), { withFileTypes: true })) {
    const here = relative === '' ? entry.name : `${relative}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(base, here);
    else if (entry.isFile()) yield here;
  }
}

async function describeFile(base: string, file: string): Promise<RunFile> {
  const full = path.join(base, file);
  const hash = createHash('sha256');
  let { size: sizeBytes } = await lstat(full);
  if (sizeBytes > SYNCHRONOUS_BYTES) {
    for await (const chunk of createReadStream(full)) hash.update(chunk as Uint8Array);
  } else {
    const content = readFileSync(full);
    sizeBytes = content.length;
    hash.update(content);
  }
  return { path: file, sizeBytes, sha256: hash.digest('hex') };
}

async function finishedRuns(folder: string, unitDir: string): Promise<readonly FinishedRun[]> {
  let names: string[];
  try {
    names = (await readdir(folder)).filter(isRunFolderName).sort();
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
  const runs: FinishedRun[] = [];
  for (const name of names) {
    const run = await readText(path.join(folder, name, RUN_FILES.run));
    if (run === null) continue;
    const facts = readFinishedRun(run, await readText(path.join(folder, name, RUN_FILES.record)));
    if (facts !== null) runs.push({ runDir: `${unitDir}/${name}`, ...facts });
  }
  return runs;
}

async function readText(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
