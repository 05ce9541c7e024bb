import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { listProcessesScript, parseWindowsProcesses, powerShellArgv, type WindowsProcess } from './windows.ts';

/** One living process. A zombie is dead, unless threads of it still run. */
export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  readonly sessionId: number;
  /** Clock ticks since boot (Linux) or the start as `ps` prints it: with the pid it names one process for good. */
  readonly startedAt: string;
  /** Real, effective, saved and file-system user. */
  readonly uids: readonly number[];
}

/** A process for good: a pid alone may be given to another one. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
  readonly bootId: string;
}

/** Where a look at the processes takes a program of its own and seconds, what was seen counts for so long. */
const SEEN_MILLISECONDS = 30_000;

/** The process table of this machine, or of the given /proc. */
export class ProcessTable {
  readonly #procRoot: string;
  readonly #platform: NodeJS.Platform;
  readonly #hasProc: boolean;
  /** When a process was last seen to be the one that is meant, by pid. */
  readonly #seen = new Map<number, { readonly startedAt: string; readonly atMilliseconds: number }>();

  constructor(procRoot = '/proc', platform: NodeJS.Platform = process.platform) {
    this.#procRoot = procRoot;
    this.#platform = platform;
    this.#hasProc = readText(`${procRoot}/self/stat`) !== undefined || readText(`${procRoot}/1/stat`) !== undefined;
  }

  /** Whether each look takes a program of its own and seconds, as on Windows: whoever looks again and again does so seldom. */
  get isSlow(): boolean {
    return this.#platform === 'win32';
  }

  /** Every living process. */
  rows(): ProcessRow[] {
    if (!this.#hasProc) return this.#rowsFromCommand();
    return this.#pids().flatMap((pid) => this.row(pid) ?? []);
  }

  /** Every living process, without stopping this one meanwhile where a look is slow. */
  async rowsLater(): Promise<ProcessRow[]> {
    return this.isSlow ? (await windowsProcessesLater()).map(rowOfWindows) : this.rows();
  }

  /** Undefined when there is no such living process. */
  row(pid: number): ProcessRow | undefined {
    if (!this.#hasProc) return this.#rowsFromCommand(pid).find((row) => row.pid === pid);
    const stat = parseStat(readText(`${this.#procRoot}/${pid}/stat`) ?? '');
    const status = readText(`${this.#procRoot}/${pid}/status`);
    if (stat === undefined || status === undefined) return undefined;
    if (isDeadState(stat.state) && !this.#hasLivingThread(pid)) return undefined;
    const uids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
    return { pid, ...stat.row, uids };
  }

  /** Living processes that have this user, or one below it, in any of the four places. */
  ofUser(uid: number, isBelow: (other: number) => boolean = () => false): ProcessRow[] {
    return this.rows().filter(({ uids }) => uids.some((each) => each === uid || isBelow(each)));
  }

  /**
   * Living processes of a local account of Windows, which knows no uids; none on other systems. With a pid only that one, which is
   * far less work.
   */
  ofAccount(name: string, pid: number | null = null): Pick<ProcessRow, 'pid' | 'startedAt'>[] {
    return this.#platform === 'win32' ? windowsProcesses(name, pid) : [];
  }

  /** Living processes whose own PID namespace this is (`pid:[<inode>]`). */
  ofNamespace(pidNamespace: string): number[] {
    if (!this.#hasProc) return [];
    return this.#pids().filter((pid) => this.namespaceOf(pid, 'pid') === pidNamespace && this.row(pid) !== undefined);
  }

  /** The identity of a namespace of a process; undefined when it is gone or not ours to see. */
  namespaceOf(pid: number | 'self', kind: 'pid' | 'pid_for_children'): string | undefined {
    try {
      return readlinkSync(`${this.#procRoot}/${pid}/ns/${kind}`);
    } catch {
      return undefined;
    }
  }

  /** Pids of the living children of a process. */
  childrenOf(pid: number): number[] {
    const listed = readText(`${this.#procRoot}/${pid}/task/${pid}/children`);
    if (listed !== undefined) return listed.split(' ').flatMap((text) => (text.trim() === '' ? [] : Number(text)));
    return this.rows().flatMap((row) => (row.parentPid === pid ? row.pid : []));
  }

  identityOf(pid: number): ProcessIdentity | undefined {
    const row = this.row(pid);
    return row === undefined ? undefined : { pid, startedAt: row.startedAt, bootId: this.#bootId() };
  }

  /** False also when the pid has meanwhile been given to another process. */
  isAlive(identity: ProcessIdentity): boolean {
    if (identity.bootId !== this.#bootId()) return false;
    if (this.isSlow && !hasProcess(identity.pid)) return false;
    return this.row(identity.pid)?.startedAt === identity.startedAt;
  }

  /**
   * As `isAlive`, for whoever asks again and again: where a look is slow, a process with the pid is taken for the one that was seen
   * there half a minute ago. Nothing may be killed for it.
   */
  seemsAlive(identity: ProcessIdentity): boolean {
    if (!this.isSlow) return this.isAlive(identity);
    const { pid, startedAt } = identity;
    const seen = this.#seen.get(pid);
    const isFresh = seen?.startedAt === startedAt && Date.now() - seen.atMilliseconds < SEEN_MILLISECONDS;
    if (isFresh) return hasProcess(pid);
    const isAlive = this.isAlive(identity);
    if (isAlive) this.#seen.set(pid, { startedAt, atMilliseconds: Date.now() });
    return isAlive;
  }

  #rowsFromCommand(pid: number | null = null): ProcessRow[] {
    return this.#platform === 'win32' ? windowsProcesses(null, pid).map(rowOfWindows) : rowsFromPs();
  }

  #bootId(): string {
    return (readText(`${this.#procRoot}/sys/kernel/random/boot_id`) ?? '').trim();
  }

  #pids(): number[] {
    return readdirSync(this.#procRoot).flatMap((name) => (/^\d+$/.test(name) ? Number(name) : []));
  }

  /** The first thread of a process may be a zombie while others run on. */
  #hasLivingThread(pid: number): boolean {
    let threads: string[];
    try {
      threads = readdirSync(`${this.#procRoot}/${pid}/task`);
    } catch {
      return false;
    }
    return threads.some((thread) => {
      const stat = parseStat(readText(`${this.#procRoot}/${pid}/task/${thread}/stat`) ?? '');
      return stat !== undefined && !isDeadState(stat.state);
    });
  }
}

function isDeadState(state: string): boolean {
  return state === 'Z' || state === 'X' || state === 'x';
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** The second field is the program's name and may hold anything, `)` and spaces too: it ends at the last `)`. */
function parseStat(text: string): { state: string; row: Omit<ProcessRow, 'pid' | 'uids'> } | undefined {
  const nameEnd = text.lastIndexOf(')');
  if (nameEnd < 0) return undefined;
  const fields = text.slice(nameEnd + 2).split(' ');
  const startedAt = fields[19];
  if (startedAt === undefined) return undefined;
  return {
    state: fields[0] ?? '',
    row: {
      parentPid: Number(fields[1]),
      groupId: Number(fields[2]),
      sessionId: Number(fields[3]),
      startedAt,
    },
  };
}

/** Whether anything has the pid, which costs nothing to ask. What may not be asked is there. */
function hasProcess(pid: number): boolean {
  if (pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as { code?: unknown }).code === 'EPERM';
  }
}

/** Users are names there, so rows have no uids; nor are there groups or sessions that a command's processes share. */
function rowOfWindows({ pid, parentPid, startedAt }: WindowsProcess): ProcessRow {
  return { pid, parentPid, startedAt, groupId: -1, sessionId: -1, uids: [] };
}

const LISTING_BYTES = 64 * 1024 * 1024;

/** Asks twice. @throws Error when there is no whole listing. */
function windowsProcesses(account: string | null, pid: number | null): WindowsProcess[] {
  const [program = '', ...args] = powerShellArgv();
  const input = listProcessesScript(account, pid);
  const options = { input, encoding: 'utf8', maxBuffer: LISTING_BYTES, windowsHide: true } as const;
  try {
    return parseWindowsProcesses(spawnSync(program, args, options));
  } catch {
    return parseWindowsProcesses(spawnSync(program, args, options));
  }
}

/** Asks once. @throws Error when there is no whole listing. */
async function windowsProcessesLater(): Promise<WindowsProcess[]> {
  const [program = '', ...args] = powerShellArgv();
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stdin.on('error', () => undefined).end(listProcessesScript(null));
  const status = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
  return parseWindowsProcesses({ status, stdout, stderr: '' });
}

/** Where there is no /proc: `ps`, which every Unix has. Its sessions are not comparable, so the group stands for them. */
function rowsFromPs(): ProcessRow[] {
  const result = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,uid=,stat=,lstart='], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
    maxBuffer: 64 * 1024 * 1024,
  });
  return parsePs(result.stdout);
}

/** Reads `ps -A -o pid=,ppid=,pgid=,uid=,stat=,lstart=`. */
export function parsePs(text: string): ProcessRow[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
    const [, pid, parentPid, groupId, uid, state = '', startedAt = ''] = match ?? [];
    if (pid === undefined || isDeadState(state.charAt(0))) return [];
    return [
      {
        pid: Number(pid),
        parentPid: Number(parentPid),
        groupId: Number(groupId),
        sessionId: Number(groupId),
        startedAt,
        uids: [Number(uid)],
      },
    ];
  });
}
