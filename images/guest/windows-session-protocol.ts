/** What the runner (SYSTEM) and the console session's task (the agent) tell each other on Windows. Pure. */

const SPOOL_VERSION = 1;

/** A command for the console session. It lies in the spool, which the agent may read and not write. */
export interface SpoolRequest {
  /** 32 hexadecimal digits that cannot be guessed; also the first part of the names of the pipes. */
  readonly requestId: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly hasInput: boolean;
}

/** Said by the session: claims of the agent's own account, none of which decides a result. */
export type SessionNote =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'exited'; readonly exitCode: number | null; readonly signal: string | null };

/** Pipes of one request; each is connected to once. The session lives as long as `control` is open. */
export const SPOOL_STREAMS = ['control', 'stdin', 'stdout', 'stderr'] as const;

export type SpoolStream = (typeof SPOOL_STREAMS)[number];

export function pipeNameOf(requestId: string, stream: SpoolStream): string {
  return `examhall-${requestId}-${stream}`;
}

export function requestFileOf(requestId: string): string {
  return `${requestId}.json`;
}

/** The request that a file of this name holds, or null for files that hold none (drafts among them). */
export function requestIdOf(fileName: string): string | null {
  return /^([0-9a-f]{32})\.json$/.exec(fileName)?.[1] ?? null;
}

export function writeSpoolRequest(request: SpoolRequest): string {
  return JSON.stringify({ version: SPOOL_VERSION, ...request });
}

/** @throws TypeError for what is not a request of this version. */
export function readSpoolRequest(text: string): SpoolRequest {
  const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const { version, requestId, argv, env, cwd, hasInput } = value;
  if (version !== SPOOL_VERSION)
    throw new TypeError(`the request has version ${String(version)}, not ${SPOOL_VERSION}`);
  if (typeof requestId !== 'string' || requestIdOf(requestFileOf(requestId)) === null)
    throw new TypeError('the request has no id of 32 hexadecimal digits');
  if (!Array.isArray(argv) || argv.length === 0 || !argv.every((word) => typeof word === 'string'))
    throw new TypeError('the request has no command line');
  if (typeof env !== 'object' || env === null || !Object.values(env).every((word) => typeof word === 'string'))
    throw new TypeError('the request has no environment of texts');
  if (typeof cwd !== 'string' || typeof hasInput !== 'boolean')
    throw new TypeError('the request lacks cwd or hasInput');
  return { requestId, argv: argv, env: env as Record<string, string>, cwd, hasInput };
}

export function writeSessionNote(note: SessionNote): string {
  return `${JSON.stringify(note)}\n`;
}

/** Null for a line that is no note: whoever writes there may be the agent itself. */
export function readSessionNote(line: string): SessionNote | null {
  let value: Readonly<Record<string, unknown>> | null;
  try {
    value = JSON.parse(line) as Readonly<Record<string, unknown>> | null;
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { kind, pid, message, exitCode, signal } = value;
  if (kind === 'started' && isInteger(pid) && pid > 4) return { kind, pid };
  if (kind === 'failed' && typeof message === 'string') return { kind, message: message.slice(0, 2000) };
  if (kind !== 'exited' || !(exitCode === null || isInteger(exitCode))) return null;
  return { kind, exitCode, signal: typeof signal === 'string' ? signal.slice(0, 20) : null };
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value);
}

/** What a session keeps of its own environment: without these no Windows program starts. */
const KEPT = new Set(
  'SYSTEMROOT SYSTEMDRIVE COMSPEC PATHEXT TEMP TMP USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) COMMONPROGRAMFILES WINDIR USERNAME USERDOMAIN HOMEDRIVE HOMEPATH NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE OS'.split(
    ' ',
  ),
);

/** The command's environment: what the request says, and of the session's own what Windows needs. Names know no case there. */
export function sessionEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  asked: Readonly<Record<string, string>>,
): Record<string, string> {
  const taken = new Set(Object.keys(asked).map((name) => name.toUpperCase()));
  const kept = Object.entries(own).flatMap(([name, value]) =>
    value !== undefined && KEPT.has(name.toUpperCase()) && !taken.has(name.toUpperCase()) ? [[name, value]] : [],
  );
  return { ...(Object.fromEntries(kept) as Record<string, string>), ...asked };
}

/** A 100-nanosecond count since 1601, as Windows gives process starts. */
const WINDOWS_EPOCH_MILLISECONDS = 11_644_473_600_000n;

/** Milliseconds since 1970 as a Windows file time, in decimal. */
export function fileTimeOf(milliseconds: number): string {
  return String((BigInt(Math.floor(milliseconds)) + WINDOWS_EPOCH_MILLISECONDS) * 10_000n);
}

/**
 * What a job may have left: every process of the account that began since the job did, whoever its parent is. The shell, the
 * cua-server and the session's own task are older, and stay.
 */
export function startedSince<Row extends { readonly startedAt: string }>(
  rows: readonly Row[],
  fileTime: string,
): Row[] {
  return rows.filter(({ startedAt }) => /^\d+$/.test(startedAt) && BigInt(startedAt) >= BigInt(fileTime));
}
