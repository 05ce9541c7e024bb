import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FirstLine } from '#contracts/guest';
import { statusOf } from './job-control.ts';
import { codeOf, type JobFolder } from './job-folder.ts';
import { JobInputError } from './job-input.ts';
import type { ProcessTable } from './process-table.ts';

const LINE_BYTES = 4096;
const TAIL_BYTES = 8000;
const TAIL_CHARACTERS = 2000;
const POLL_MS = 100;

/** Waits for the first line of a job's output; without one until the job ends or the time is over. */
export async function firstLine(
  folder: JobFolder,
  table: ProcessTable,
  { timeoutSeconds, signal }: { readonly timeoutSeconds: number; readonly signal?: AbortSignal },
): Promise<FirstLine> {
  if (!folder.exists()) throw new JobInputError(`there is no job ${folder.jobId} in ${folder.jobsDir}`);
  const until = Date.now() + timeoutSeconds * 1000;
  for (;;) {
    // The status first: whatever a job that has ended printed is in its files by then.
    const status = statusOf(folder, table);
    const line = lineOf(folder.fileAt('stdout'));
    if (line !== null || status.state !== 'running' || Date.now() >= until)
      return { line, stderr: tailOf(folder.fileAt('stderr')), status };
    await sleep(POLL_MS, undefined, signal === undefined ? {} : { signal });
  }
}

/** Null while the line has no end, unless it is longer than what is kept of one. */
function lineOf(file: string): string | null {
  const start = partOf(file, LINE_BYTES, () => 0);
  const end = start.indexOf(0x0a);
  if (end < 0 && start.length < LINE_BYTES) return null;
  return start.subarray(0, end < 0 ? LINE_BYTES : end).toString('utf8');
}

function tailOf(file: string): string {
  const end = partOf(file, TAIL_BYTES, (size) => Math.max(0, size - TAIL_BYTES));
  return end.toString('utf8').slice(-TAIL_CHARACTERS);
}

/** Nothing of a file that is not there yet. */
function partOf(file: string, lengthBytes: number, from: (sizeBytes: number) => number): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
  try {
    const part = Buffer.alloc(lengthBytes);
    return part.subarray(0, readSync(descriptor, part, 0, lengthBytes, from(fstatSync(descriptor).size)));
  } finally {
    closeSync(descriptor);
  }
}
