import path from 'node:path';

import type { S3Client } from '@aws-sdk/client-s3';

import { ExamHallError, isErrorNamed } from '#core/errors';
import { readFinishedRun } from '#core/finished-run';
import { checkObjectKey } from '#core/object-rules';
import { isRunFolderName, RUN_FILES, runFolderName } from '#core/run-tree';
import type { FinishedRun, RunTree } from '#ports/run-tree';

import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './retry-policy.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { appendLine } from './s3-object-append.ts';
import { copyInto } from './s3-object-copy.ts';
import { listAll } from './s3-object-list.ts';
import { describeObject, readObject } from './s3-object-read.ts';
import { writeContent } from './s3-object-write.ts';

/** Where the tree lies in the artifacts bucket. */
const TREE_PREFIX = 'runs/';
const HEADS_AT_ONCE = 16;

type RunFile = Awaited<ReturnType<RunTree['list']>>[number];

export interface S3RunTreeOptions {
  readonly client: S3Client;
  /** S3's name of the artifacts bucket. */
  readonly bucket: string;
  readonly policy?: RetryPolicy;
}

/**
 * The run tree below `runs/` of the artifacts bucket. A folder is an empty object whose key ends with `/`, so that two
 * runs of one second cannot both open it and empty folders are told. Such objects are in no listing of files.
 */
export function createS3RunTree({ client, bucket, policy = DEFAULT_RETRY_POLICY }: S3RunTreeOptions): RunTree {
  const place: S3Bucket = { client, bucket: 'artifacts', name: bucket, policy };
  return {
    open: async (unitDir, stamp) => await openFolder(place, unitDir, stamp),
    appendEvent: async (runDir, line) => {
      await appendLine(place, keyOf(runDir, RUN_FILES.events), line);
    },
    write: async (runDir, file, content) => {
      const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
      await writeContent(place, keyOf(runDir, file), bytes, {});
    },
    copyObject: async (runDir, file, key) => {
      const target = keyOf(runDir, file);
      checkObjectKey(key);
      await copyInto({ from: place, fromKey: key, to: place, toKey: target });
    },
    makeDir: async (runDir, folder) => {
      await writeContent(place, `${keyOf(runDir, folder)}/`, new Uint8Array(), {});
    },
    list: async (runDir) => await filesBelow(place, `${folderKey(runDir)}/`),
    finished: async (unitDir) => await finishedRuns(place, unitDir),
  };
}

/** Key of a folder of the tree, without a slash at its end. @throws UnsafePathError when it lies outside. */
function folderKey(folder: string): string {
  const normal = path.posix.normalize(folder);
  const isInside = !normal.startsWith('/') && !normal.startsWith('..') && !normal.includes('\0');
  if (!isInside) throw outside(folder);
  const key = normal.replace(/\/$/u, '');
  return key === '.' ? TREE_PREFIX.slice(0, -1) : `${TREE_PREFIX}${key}`;
}

/** Key of something below a folder of the tree. @throws UnsafePathError when it lies outside of it. */
function keyOf(folder: string, file: string): string {
  const base = folderKey(folder);
  const key = path.posix.join(base, file).replace(/\/$/u, '');
  if (path.posix.isAbsolute(file) || file.includes('\0') || !key.startsWith(`${base}/`)) {
    throw outside(`${folder}/${file}`);
  }
  checkObjectKey(key);
  return key;
}

function outside(seen: string): ExamHallError {
  const message = `${JSON.stringify(seen)} would lie outside the run tree or its own run folder`;
  return new ExamHallError('UnsafePathError', message);
}

/** A folder whose opening was broken off stays empty: whether another is about to write to it cannot be told. */
async function openFolder(place: S3Bucket, unitDir: string, stamp: string): Promise<string> {
  for (let taken = 0; ; taken += 1) {
    const name = runFolderName(stamp, taken);
    const key = `${keyOf(unitDir, name)}/`;
    try {
      await writeContent(place, key, new Uint8Array(), { ifAbsent: true });
      return `${unitDir}/${name}`;
    } catch (error) {
      if (!isErrorNamed(error, 'ObjectExistsError')) throw error;
    }
  }
}

async function filesBelow(place: S3Bucket, prefix: string): Promise<readonly RunFile[]> {
  const { objects } = await listAll(place, prefix);
  const keys = objects.map(({ key }) => key).filter((key) => !key.endsWith('/'));
  const files: RunFile[] = [];
  for (let at = 0; at < keys.length; at += HEADS_AT_ONCE) {
    const found = await Promise.all(keys.slice(at, at + HEADS_AT_ONCE).map((key) => describeObject(place, key)));
    // One that is gone by now was removed, and is no file of the run.
    for (const info of found) {
      if (info === undefined) continue;
      files.push({ path: info.key.slice(prefix.length), sizeBytes: info.sizeBytes, sha256: info.sha256 });
    }
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function finishedRuns(place: S3Bucket, unitDir: string): Promise<readonly FinishedRun[]> {
  const prefix = `${folderKey(unitDir)}/`;
  const { folders } = await listAll(place, prefix, '/');
  const names = folders.map((folder) => folder.slice(prefix.length, -1)).filter(isRunFolderName);
  const runs: FinishedRun[] = [];
  for (const name of names.sort()) {
    const run = await readText(place, `${prefix}${name}/${RUN_FILES.run}`);
    if (run === null) continue;
    const facts = readFinishedRun(run, await readText(place, `${prefix}${name}/${RUN_FILES.record}`));
    if (facts !== null) runs.push({ runDir: `${unitDir}/${name}`, ...facts });
  }
  return runs;
}

async function readText(place: S3Bucket, key: string): Promise<string | null> {
  try {
    return Buffer.from(await readObject(place, key)).toString('utf8');
  } catch (error) {
    if (isErrorNamed(error, 'ObjectNotFoundError')) return null;
    throw error;
  }
}
