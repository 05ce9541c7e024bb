import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const MAX_LINE_BYTES = 4096;
const TAIL_BYTES = 2000;

/** The first line of a file that is being written; null while it has no end, unless it is longer than 4096 bytes. */
export function firstLineOf(file: string): string | null {
  const start = readPart(file, () => 0, MAX_LINE_BYTES);
  const end = start.indexOf(0x0a);
  if (end < 0 && start.length < MAX_LINE_BYTES) return null;
  return start.subarray(0, end < 0 ? MAX_LINE_BYTES : end).toString('utf8');
}

/** The beginning of a file; empty when there is none. */
export function headOf(file: string, lengthBytes: number): string {
  return readPart(file, () => 0, lengthBytes).toString('utf8');
}

/** The end of a file; empty when there is none. */
export function tailOf(file: string): string {
  return readPart(file, (size) => Math.max(0, size - TAIL_BYTES), TAIL_BYTES).toString('utf8');
}

function readPart(file: string, from: (sizeBytes: number) => number, lengthBytes: number): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
  try {
    const part = Buffer.alloc(lengthBytes);
    return part.subarray(0, readSync(descriptor, part, 0, lengthBytes, from(fstatSync(descriptor).size)));
  } finally {
    closeSync(descriptor);
  }
}
