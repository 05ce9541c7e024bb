import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { uniqueSuffix } from './lazy-builtins.ts';

/** A pipe whose writing end a child is given as a descriptor; the giver closes its own copy after the start. */
export interface NamedPipe {
  readonly readEnd: Readable;
  readonly writeFd: number;
}

/**
 * Pipes that a command can open again by name (`/dev/stdout`, `/dev/stderr`): with Node's own, which are sockets, that
 * fails, and with a pipe made by another account too. The names are gone when this returns.
 * @throws Error when the folder cannot hold one.
 */
export function makePipes(folder: string, count: number): NamedPipe[] {
  const paths = Array.from({ length: count }, () => path.join(folder, `.pipe-${uniqueSuffix()}`));
  const made = spawnSync('mkfifo', ['-m', '622', ...paths], { env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' });
  if (made.status !== 0) {
    throw new Error(`no pipe could be made in ${folder}: ${made.error?.message ?? made.stderr.trim()}`);
  }
  return paths.map((each) => {
    const readFd = openSync(each, constants.O_RDONLY | constants.O_NONBLOCK);
    const writeFd = openSync(each, constants.O_WRONLY);
    unlinkSync(each);
    return { readEnd: new Socket({ fd: readFd, readable: true, writable: false }), writeFd };
  });
}

export function closeWriteEnds(pipes: readonly NamedPipe[]): void {
  for (const pipe of pipes) closeSync(pipe.writeFd);
}
