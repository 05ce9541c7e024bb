import { closeSync, openSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { codeOf } from './job-folder.ts';

export interface OutputCount {
  readonly bytes: number;
  readonly isTruncated: boolean;
}

/**
 * Writes a stream to a new file up to a limit and goes on reading and counting after it, so that a flood never blocks its
 * writer and never fills the disk. A full disk cuts the file in the same way.
 */
export async function drainToFile(stream: Readable, file: string, limitBytes: number): Promise<OutputCount> {
  const target = openSync(file, 'wx', 0o600);
  let bytes = 0;
  let written = 0;
  let isFull = false;
  const finished = new Promise<void>((resolve) => {
    stream.once('close', resolve);
    stream.once('error', () => resolve());
  });
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    const room = isFull ? 0 : Math.min(chunk.length, limitBytes - written);
    if (room <= 0) return;
    try {
      written += writeSync(target, chunk, 0, room);
    } catch (error) {
      if (codeOf(error) !== 'ENOSPC' && codeOf(error) !== 'EDQUOT' && codeOf(error) !== 'EFBIG') throw error;
      isFull = true;
    }
  });
  await finished;
  closeSync(target);
  return { bytes, isTruncated: written < bytes };
}
