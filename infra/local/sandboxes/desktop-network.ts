import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ExecJob } from '#contracts/guest';
import { GUEST_CONTRACT_VERSION } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { mountsBelow } from './remove-folder.ts';
import type { SandboxFolder } from './sandbox-folder.ts';

const run = promisify(execFile);
const LIMIT = { timeout: 20_000 } as const;

/** Every desktop's server listens here, each in a network of its own. */
export const SERVER_PORT = 5000;
export const RELAY_JOB = 'relay';
const SOCKET = 'cua.sock';

/** Short names of sandbox folders: a socket's path may have 107 bytes, whatever folder the experiment is in. */
const SHORT_NAMES = '/run/examhall/desktops';

/** Null when a network namespace can be made here, else why not. */
export async function whyNoNetwork(): Promise<string | null> {
  try {
    await run('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up'], LIMIT);
    return null;
  } catch (error) {
    return `no network namespace can be made: ${(error as Error).message.trim()}`;
  }
}

/**
 * Makes the sandbox's network: its own loopback and nothing else. It lives as long as its file is mounted.
 * @returns the file.
 * @throws ProvisionFailedError.
 */
export async function makeNetwork(folder: SandboxFolder): Promise<string> {
  const file = path.join(folder.path, 'network');
  if (mountsBelow(folder.path).includes(file)) return file;
  writeFileSync(file, '', { mode: 0o600 });
  try {
    await run('unshare', [`--net=${file}`, 'ip', 'link', 'set', 'lo', 'up'], LIMIT);
  } catch (error) {
    const message = `the network of ${folder.sandboxId} cannot be made: ${(error as Error).message.trim()}`;
    throw new ExamHallError('ProvisionFailedError', message, {}, error);
  }
  return file;
}

/** Gives the sandbox's folder its short name, and takes those away whose folder is gone. @returns the socket's path. */
export function nameSocket(folder: SandboxFolder): string {
  mkdirSync(SHORT_NAMES, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(SHORT_NAMES)) {
    const link = path.join(SHORT_NAMES, name);
    if (!existsSync(link)) rmSync(link, { force: true });
  }
  const link = shortNameOf(folder);
  if (!existsSync(link)) symlinkSync(folder.path, link);
  return path.join(link, SOCKET);
}

/** Takes the short name away; only root gives any. */
export function dropName(folder: SandboxFolder): void {
  if (process.getuid?.() !== 0) return;
  rmSync(shortNameOf(folder), { force: true });
}

function shortNameOf(folder: SandboxFolder): string {
  return path.join(SHORT_NAMES, createHash('sha256').update(folder.path).digest('hex').slice(0, 16));
}

/** The job that carries the host's requests into the sandbox's network. */
export function relayJob(socketPath: string, networkNamespace: string, wallSeconds: number): ExecJob {
  const listen = `UNIX-LISTEN:${socketPath},mode=0600,unlink-early,fork,max-children=64`;
  return {
    version: GUEST_CONTRACT_VERSION,
    kind: 'exec',
    jobId: RELAY_JOB,
    wallSeconds,
    account: null,
    isolation: { kind: 'none', networkNamespace },
    argv: ['socat', listen, `TCP4:127.0.0.1:${String(SERVER_PORT)}`],
    env: {},
    cwd: '/',
    stdin: null,
    outputLimitMiB: 1,
  };
}
