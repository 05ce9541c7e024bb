import { createReadStream, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { lazy } from './lazy-builtins.ts';
import { whileBusy } from './windows-files.ts';
import {
  pipeNameOf,
  readSessionNote,
  requestFileOf,
  SPOOL_STREAMS,
  writeSpoolRequest,
  type SessionNote,
  type SpoolStream,
} from './windows-session-protocol.ts';

/** Where the console session looks for its work, and how its pipes are called. */
export interface SessionPlace {
  readonly spoolDir: string;
  readonly pipePath: (name: string) => string;
  /** How long the session may take to begin: it comes some time after the machine. */
  readonly takeLimitSeconds: number;
}

/** Of an installed Windows sandbox. */
export const WINDOWS_SESSION: SessionPlace = {
  spoolDir: 'C:\\ProgramData\\ExamHall\\spool',
  pipePath: (name) => `\\\\.\\pipe\\${name}`,
  takeLimitSeconds: 120,
};

export interface SessionCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** A descriptor to read standard input from, or `pipe` for a stream; null for an empty one. */
  readonly input: number | 'pipe' | null;
}

export interface SessionLaunch {
  /** What the session calls the command's process: a claim, to be checked before anything is done to it. */
  readonly claimedPid: number;
  /** Null unless the command asked for a stream. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** As the session says it; a session that is gone has ended the command. */
  readonly ended: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>;
  /** Tells the session to end the command, by hanging up. What lives on is the caller's to kill. */
  hangUp(): void;
}

/** What `signal` says when the session went away before the command. */
export const SESSION_LOST = 'SESSION-LOST';

/** A spool with this file in it is that of an account which has been ended. */
const CLOSED_SPOOL = 'closed';

/** From now on nothing is started in the session, which is about to end. */
export function closeSpool({ spoolDir }: Pick<SessionPlace, 'spoolDir'>): void {
  writeFileSync(path.join(spoolDir, CLOSED_SPOOL), '');
}

/**
 * Runs a command in the console session: services have no screen, and on Windows the runner is one. The session only executes.
 * @throws Error when no session takes it in time, or the session cannot start it.
 */
export async function launchInSession(command: SessionCommand, place: SessionPlace): Promise<SessionLaunch> {
  if (existsSync(path.join(place.spoolDir, CLOSED_SPOOL)))
    throw new Error('its account was ended with the agent, and nothing runs as it any more');
  const requestId = lazy.crypto().randomBytes(16).toString('hex');
  const pipes = await openPipes(requestId, place);
  const file = path.join(place.spoolDir, requestFileOf(requestId));
  try {
    const { argv, env, cwd, input } = command;
    const text = writeSpoolRequest({ requestId, argv, env, cwd, hasInput: input !== null });
    writeFileSync(`${file}.draft`, text, { mode: 0o644 });
    whileBusy(() => renameSync(`${file}.draft`, file));
    const control = await within(pipes.control.socket, place.takeLimitSeconds, 'no console session took the job');
    const notes = readNotes(control);
    const first = await within(notes.first, place.takeLimitSeconds, 'the console session did not start the job');
    if (first.kind !== 'started') throw new Error(messageOf(first));
    if (input === null) pipes.stdin.close();
    const [stdout, stderr, stdin] = await within(
      Promise.all([pipes.stdout.socket, pipes.stderr.socket, input === null ? null : pipes.stdin.socket]),
      place.takeLimitSeconds,
      'the console session gave no output',
    );
    if (typeof input === 'number' && stdin !== null) feed(input, stdin);
    return {
      claimedPid: first.pid,
      stdin: input === 'pipe' ? stdin : null,
      stdout,
      stderr,
      ended: notes.end,
      hangUp: () => control.destroy(),
    };
  } catch (error) {
    for (const { close } of Object.values(pipes)) close();
    throw error;
  } finally {
    rmSync(file, { force: true });
  }
}

/** Of a line that the session may send; what is longer is no note. */
const NOTE_LIMIT = 8192;

interface OpenPipe {
  readonly socket: Promise<Socket>;
  readonly close: () => void;
}

async function openPipes(requestId: string, place: SessionPlace): Promise<Record<SpoolStream, OpenPipe>> {
  const opened = await Promise.all(
    SPOOL_STREAMS.map(
      async (stream) => [stream, await openPipe(place.pipePath(pipeNameOf(requestId, stream)))] as const,
    ),
  );
  return Object.fromEntries(opened) as Record<SpoolStream, OpenPipe>;
}

/** Taken by whoever comes first: only who may read the spool knows its name. */
async function openPipe(pipe: string): Promise<OpenPipe> {
  let server: Server | undefined;
  const socket = new Promise<Socket>((resolve) => {
    server = createServer((connected) => {
      connected.on('error', () => undefined);
      server?.close();
      resolve(connected);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server?.once('error', reject);
    server?.listen({ path: pipe, readableAll: true, writableAll: true }, resolve);
  });
  return {
    socket,
    close: () => {
      server?.close();
      void socket.then((connected) => connected.destroy());
    },
  };
}

function readNotes(control: Socket): { readonly first: Promise<SessionNote>; readonly end: SessionLaunch['ended'] } {
  let rest = '';
  let isStarted = false;
  let tellFirst: (note: SessionNote) => void = () => undefined;
  let tellEnd: (end: { exitCode: number | null; signal: string | null }) => void = () => undefined;
  const first = new Promise<SessionNote>((resolve) => (tellFirst = resolve));
  const end = new Promise<{ exitCode: number | null; signal: string | null }>((resolve) => (tellEnd = resolve));
  const take = (note: SessionNote): void => {
    if (!isStarted) tellFirst(note);
    else if (note.kind === 'exited') tellEnd({ exitCode: note.exitCode, signal: note.signal });
    isStarted = true;
  };
  control.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = (lines.pop() ?? '').slice(0, NOTE_LIMIT);
    for (const line of lines) {
      const note = readSessionNote(line);
      if (note !== null) take(note);
    }
  });
  control.on('close', () => {
    tellFirst({ kind: 'failed', message: 'the console session went away' });
    tellEnd({ exitCode: null, signal: SESSION_LOST });
  });
  return { first, end };
}

function messageOf(note: SessionNote): string {
  return note.kind === 'failed' ? note.message : 'the console session ended a job that it had not started';
}

function feed(inputFd: number, socket: Socket): void {
  createReadStream('', { fd: inputFd, autoClose: false, start: 0 })
    .on('error', () => socket.end())
    .pipe(socket);
}

async function within<T>(work: Promise<T>, seconds: number, what: string): Promise<T> {
  const pause = new AbortController();
  const late = sleep(seconds * 1000, undefined, { signal: pause.signal }).then(() => {
    throw new Error(`${what} within ${seconds} s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    pause.abort();
  }
}
