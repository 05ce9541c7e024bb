import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A Python environment of exactly what one requirements file names, shared by all checkouts of this user. */
export interface PythonVenv {
  readonly folder: string;
  /** Path of a program that its packages bring. */
  program(name: string): string;
  /** What is missing, or null. Quick: starts nothing. */
  lacking(): string | null;
  /** Makes it anew. @throws Error with the end of what failed said. */
  install(): void;
}

const READY_FILE = 'ready';
const TIMEOUT_MS = 900_000;

/** `name` is that of its folder in the user's cache; another requirements file makes another folder. */
export function pythonVenv(name: string, requirementsFile: string): PythonVenv {
  const hash = createHash('sha256').update(readFileSync(requirementsFile)).digest('hex').slice(0, 8);
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  const folder = path.join(cache, 'examhall', `${name}-${hash}`);
  const program = (file: string): string => path.join(folder, 'bin', file);
  return {
    folder,
    program,
    lacking: () => {
      if (!existsSync(path.join(folder, READY_FILE))) return `no complete ${folder}`;
      return existsSync(program('python')) ? null : `the Python of ${folder} is gone`;
    },
    install: () => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(path.dirname(folder), { recursive: true });
      makeVenv(folder);
      mustRun(program('python'), ['-m', 'pip', 'install', '--quiet', '--no-input', '-r', requirementsFile]);
      writeFileSync(path.join(folder, READY_FILE), '');
    },
  };
}

/** Debian's own Python has no venv until its package is there. */
function makeVenv(folder: string): void {
  if (run('python3', ['-m', 'venv', folder]).status === 0) return;
  rmSync(folder, { recursive: true, force: true });
  const isDebianRoot = process.getuid?.() === 0 && run('apt-get', ['--version']).status === 0;
  if (isDebianRoot) {
    run('apt-get', ['update', '-qq']);
    mustRun('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'python3', 'python3-venv']);
  }
  mustRun('python3', ['-m', 'venv', folder]);
}

function run(command: string, args: readonly string[]): SpawnSyncReturns<string> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  return spawnSync(command, args, { encoding: 'utf8', env, timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 });
}

function mustRun(command: string, args: readonly string[]): void {
  const { status, error, stdout, stderr } = run(command, args);
  if (status === 0) return;
  const said = `${stdout}\n${stderr}`.trim().slice(-2_000);
  throw new Error(`${command} ${args.slice(0, 4).join(' ')} failed: ${error?.message ?? ''}\n${said}`);
}
