import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { taskkillArgv } from './windows.ts';
import type { SessionPlace } from './windows-console.ts';
import {
  pipeNameOf,
  readSpoolRequest,
  requestIdOf,
  sessionEnvironment,
  writeSessionNote,
  type SessionNote,
  type SpoolRequest,
  type SpoolStream,
} from './windows-session-protocol.ts';

const LOOK_MS = 250;

/**
 * The logon task's side, run as the agent in the console session: executes what the runner spools, and gives its output and end
 * back. It keeps no limit and writes no result; whoever takes it over can end the agent's own run, and nothing more.
 */
export async function serveSession(place: Omit<SessionPlace, 'takeLimitSeconds'>, signal?: AbortSignal): Promise<void> {
  const seen = new Set<string>();
  while (signal?.aborted !== true) {
    for (const name of filesOf(place.spoolDir)) {
      const requestId = requestIdOf(name);
      if (requestId === null || seen.has(requestId)) continue;
      seen.add(requestId);
      void execute(path.join(place.spoolDir, name), place).catch((error: unknown) => {
        process.stderr.write(`examhall-session: ${error instanceof Error ? error.message : String(error)}\n`);
      });
    }
    await sleep(LOOK_MS, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

type PipePath = SessionPlace['pipePath'];

async function execute(file: string, { pipePath }: { readonly pipePath: PipePath }): Promise<void> {
  const request = readSpoolRequest(readFileSync(file, 'utf8'));
  const open = (stream: SpoolStream): Promise<Socket> => connected(pipePath(pipeNameOf(request.requestId, stream)));
  // Somebody else of this session has taken it when there is nothing to connect to.
  const control = await open('control');
  const tell = (note: SessionNote): void => void control.write(writeSessionNote(note));
  const [stdout, stderr] = await Promise.all([open('stdout'), open('stderr')]);
  const stdin = request.hasInput ? await open('stdin') : null;
  const child = start(request);
  child.once('error', (error) => {
    tell({ kind: 'failed', message: `${request.argv[0] ?? ''} cannot be started: ${error.message}` });
    for (const socket of [stdout, stderr, control]) socket.end();
  });
  child.once('spawn', () => tell({ kind: 'started', pid: child.pid ?? 0 }));
  child.stdout?.pipe(stdout);
  child.stderr?.pipe(stderr);
  child.stdin?.on('error', () => undefined);
  if (stdin === null) child.stdin?.end();
  else if (child.stdin !== null) stdin.pipe(child.stdin);
  child.once('exit', (exitCode, signal) => {
    tell({ kind: 'exited', exitCode, signal });
    control.end();
  });
  control.once('close', () => end(child));
}

function start({ argv, env, cwd }: SpoolRequest): ChildProcess {
  const [program = '', ...args] = argv;
  return spawn(program, args, { cwd, env: sessionEnvironment(process.env, env), stdio: 'pipe', windowsHide: false });
}

/** The runner has hung up: it wants the command ended. */
function end(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  if (process.platform !== 'win32') {
    child.kill('SIGKILL');
    return;
  }
  const [program = '', ...args] = taskkillArgv(child.pid);
  spawn(program, args, { stdio: 'ignore' }).on('error', () => undefined);
}

function connected(pipe: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: pipe });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
    socket.on('error', () => undefined);
    // Nothing but standard input says anything in this direction; reading notices a hang-up.
    if (!pipe.endsWith('stdin')) socket.resume();
  });
}
