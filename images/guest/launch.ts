import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync, statSync } from 'node:fs';
import os from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { GuestAccount, GuestIsolation } from '#contracts/guest';
import { huntableUid, signal } from './end-processes.ts';
import { joinGroup, makeGroup } from './job-cgroup.ts';
import type { LaunchNote, NamespaceNote } from './job-folder.ts';
import { uniqueSuffix } from './lazy-builtins.ts';
import { INSIDE, launchScript, rootScript, type LaunchPlan, type RootMount } from './namespace-script.ts';
import type { ProcessTable } from './process-table.ts';
import { launchAsAccount } from './windows-launch.ts';

/** The walls or the command could not be put up; nothing of the agent has run. */
export class SpawnFailedError extends Error {
  override readonly name = 'SpawnFailedError';
}

export interface LaunchRequest extends LaunchPlan {
  readonly account: GuestAccount | null;
  readonly isolation: GuestIsolation;
  readonly stdio: LaunchStdio;
  /** Called before anything of the agent runs (with `none`, right after it has started). */
  onNote?(note: LaunchNote): void;
}

/** Standard input, output and error: descriptors, or `pipe` for streams of the launched command. */
export type LaunchStdio = readonly [number | 'pipe' | 'ignore', number | 'pipe', number | 'pipe'];

export interface Launched {
  readonly note: LaunchNote;
  /** Null where the request gave descriptors. */
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** How the command ended. @throws SpawnFailedError when it never started. */
  readonly ended: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>;
  /** Lets the walls fall, and everything inside with them. Without walls nothing happens. */
  release(): void;
  /** Kills what the runner itself holds on to. */
  kill(): void;
}

const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

/** The environment of a command besides what its job says. */
export function baseEnvironment(account: GuestAccount | null, isolation: GuestIsolation): Record<string, string> {
  const home = homeOf(account, isolation);
  const user = account?.name ?? ownName();
  const path = isolation.kind === 'none' ? process.env['PATH'] : undefined;
  return {
    PATH: path ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: home,
    USER: user,
    LANG: process.env['LANG'] ?? 'C.UTF-8',
  };
}

/** A uid in a container may have no name. */
function ownName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'user');
  }
}

export function homeOf(account: GuestAccount | null, isolation: GuestIsolation): string {
  if (account !== null) return account.home;
  return isolation.kind === 'none' ? (isolation.home ?? os.homedir()) : '/';
}

/** The command line of one of the runner's own inner verbs. */
export function innerArgv(isolation: GuestIsolation, verb: string): string[] {
  return isolation.kind === 'namespaces'
    ? [INSIDE.node, INSIDE.runner, verb]
    : [process.execPath, fileURLToPath(import.meta.url), verb];
}

/** Starts a command as an account behind its walls. @throws SpawnFailedError. */
export async function launch(request: LaunchRequest, table: ProcessTable): Promise<Launched> {
  if (process.platform === 'win32' && request.account !== null) {
    const { name } = request.account;
    const launched = await launchAsAccount(request, name, table).catch((error: unknown) => {
      throw new SpawnFailedError(`${name} cannot be started as: ${(error as Error).message}`, { cause: error });
    });
    request.onNote?.(launched.note);
    return launched;
  }
  return request.isolation.kind === 'namespaces'
    ? launchInNamespaces(request, request.isolation, table)
    : launchPlainly(request, table);
}

async function launchPlainly(request: LaunchRequest, table: ProcessTable): Promise<Launched> {
  const { account, isolation } = request;
  if (isolation.networkNamespace !== undefined && account !== null)
    throw new SpawnFailedError(`without walls the account ${account.name} cannot be put into a network of its own`);
  const [program = '', ...args] = request.argv;
  const uid = huntableUid(account?.uid);
  const isDropping = uid !== null && process.platform === 'linux';
  // setpriv runs as the account already, so nothing in the job's environment can work on a privileged process.
  const bars = isolation.kind === 'none' && isolation.allowsSudo === true ? [] : ['--no-new-privs'];
  const argv = isDropping
    ? ['/usr/bin/setpriv', ...bars, '--inh-caps=-all', '--', program, ...args]
    : [program, ...args];
  const network = networkArgv(isolation);
  const group =
    uid !== null && isolation.kind === 'none' && isolation.keepsDesktop === true ? makeGroup(uniqueSuffix()) : null;
  const held = group === null ? argv : ['/bin/sh', '-c', HELD, 'sh', ...argv];
  const child = await started(network.length === 0 ? held : ['nsenter', ...network, '--', ...held], {
    ...(uid === null ? {} : { uid, gid: account?.gid ?? uid }),
    cwd: request.cwd,
    env: { ...request.env },
    stdio: [...request.stdio, ...(group === null ? [] : (['pipe'] as const))],
    detached: process.platform !== 'win32',
  });
  const ended = endOf(child);
  const pid = child.pid ?? 0;
  if (group !== null) joinGroup(group, pid);
  const launcher = table.identityOf(pid) ?? { pid, startedAt: '', bootId: '' };
  const note: LaunchNote = { launcher, namespace: null, ...(group === null ? {} : { group }) };
  request.onNote?.(note);
  if (group !== null) (child.stdio[3] as Writable).end('\n');
  return { note, ...pipesOf(child), ended, release: () => undefined, kill: () => void child.kill('SIGKILL') };
}

/** Holds the command back until it is where it belongs. */
const HELD = 'read -r _ <&3; exec 3<&-; exec "$@"';

async function launchInNamespaces(
  request: LaunchRequest,
  isolation: Extract<GuestIsolation, { kind: 'namespaces' }>,
  table: ProcessTable,
): Promise<Launched> {
  const walls = await started(
    [
      'unshare',
      ...['--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child', '--propagation', 'private'],
      '/bin/sh',
      '-s',
    ],
    { cwd: '/', env: { PATH: SYSTEM_PATH }, stdio: ['pipe', 'pipe', 'pipe'], detached: true },
  );
  const { stdin } = walls;
  try {
    // The writing end stays open: it is what keeps the walls up.
    stdin?.on('error', () => undefined);
    stdin?.write(
      rootScript({
        mounts: allMounts(isolation),
        account: request.account,
        hostname: isolation.hostname,
        launchScript: launchScript(request),
      }),
    );
    await readyLine(walls);
    const note = noteOf(walls.pid ?? 0, table);
    request.onNote?.(note);
    const command = await enter(walls.pid ?? 0, request);
    const kill = (): void => {
      signal(note.namespace.init.pid, 'SIGKILL');
      // It has to live to take the command's remains away, or the namespace would wait for the host's init to do it.
      command.child.kill('SIGCONT');
    };
    return { note, ...pipesOf(command.child), ended: command.ended, release: () => stdin?.destroy(), kill };
  } catch (error) {
    walls.kill('SIGKILL');
    throw error;
  }
}

function allMounts(isolation: Extract<GuestIsolation, { kind: 'namespaces' }>): RootMount[] {
  const own = [
    { source: realpathSync(process.execPath), target: INSIDE.node, readOnly: true },
    { source: realpathSync(fileURLToPath(import.meta.url)), target: INSIDE.runner, readOnly: true },
  ];
  return [...isolation.mounts, ...own].map((mount) => {
    try {
      return { ...mount, isFolder: statSync(mount.source).isDirectory() };
    } catch {
      throw new SpawnFailedError(`the mount source ${mount.source} (shown as ${mount.target}) does not exist`);
    }
  });
}

function noteOf(launcherPid: number, table: ProcessTable): LaunchNote & { readonly namespace: NamespaceNote } {
  const launcher = table.identityOf(launcherPid);
  const [initPid] = table.childrenOf(launcherPid);
  const init = initPid === undefined ? undefined : table.identityOf(initPid);
  const pidNamespace = table.namespaceOf(launcherPid, 'pid_for_children');
  if (launcher === undefined || init === undefined || pidNamespace === undefined) {
    throw new SpawnFailedError('the namespace was gone before a command could start in it');
  }
  return { launcher, namespace: { pidNamespace, init } };
}

/** Building the root takes some 20 ms; a hung file system must not hang the job. */
const SETUP_LIMIT_MS = 30_000;

/** Waits for the `ready` of the namespace's init. */
async function readyLine(walls: ChildProcess): Promise<void> {
  const { stdout, stderr } = walls;
  if (stdout === null || stderr === null) throw new SpawnFailedError('the namespace has no output pipes');
  let trouble = '';
  stderr.setEncoding('utf8').on('data', (text: string) => (trouble = (trouble + text).slice(0, 2000)));
  const limit = { signal: AbortSignal.timeout(SETUP_LIMIT_MS) };
  const [first] = (await Promise.race([once(stdout, 'data', limit), once(stdout, 'end', limit)])) as [
    Buffer | undefined,
  ];
  if (first?.toString().startsWith('ready') === true) return;
  if (walls.exitCode === null && walls.signalCode === null) await once(walls, 'close');
  throw new SpawnFailedError(`the namespace could not be set up: ${trouble.trim() || 'no message'}`);
}

/** Runs the launch script as the account inside the namespaces of the launcher. */
async function enter(
  launcherPid: number,
  request: LaunchRequest,
): Promise<{ readonly child: ChildProcess; readonly ended: Launched['ended'] }> {
  const namespaces = `/proc/${launcherPid}/ns`;
  const child = await started(
    [
      'nsenter',
      `--mount=${namespaces}/mnt`,
      `--uts=${namespaces}/uts`,
      `--ipc=${namespaces}/ipc`,
      `--pid=${namespaces}/pid_for_children`,
      ...networkArgv(request.isolation),
      '--',
      ...privilegeArgv(request.account),
      ...['/bin/sh', INSIDE.launch],
    ],
    {
      cwd: '/',
      env: { PATH: SYSTEM_PATH },
      stdio: [...request.stdio, 'pipe'],
      detached: true,
    },
  );
  const trouble = textOf(child.stdio[3] as Readable);
  const ended = endOf(child).then(async (end) => {
    const text = await trouble;
    if (text !== '') throw new SpawnFailedError(text);
    return end;
  });
  return { child, ended };
}

function networkArgv({ networkNamespace }: GuestIsolation): string[] {
  return networkNamespace === undefined ? [] : [`--net=${networkNamespace}`];
}

/** Processes an account may have at once: far above real work, far below what would hurt the host. */
const MAX_PROCESSES = 4096;

function privilegeArgv(account: GuestAccount | null): string[] {
  if (account?.uid === null || account?.uid === undefined) return [];
  return [
    ...['/usr/bin/prlimit', `--nproc=${MAX_PROCESSES}`, '--core=0', '/usr/bin/setpriv'],
    ...[`--reuid=${account.uid}`, `--regid=${account.gid ?? account.uid}`, '--clear-groups', '--no-new-privs'],
    ...['--inh-caps=-all', '--bounding-set=-all'],
  ];
}

async function started(argv: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
  const [program = '', ...args] = argv;
  let child: ChildProcess;
  try {
    child = spawn(program, args, options);
    await once(child, 'spawn');
  } catch (error) {
    throw new SpawnFailedError(`${program} cannot be started: ${(error as Error).message}`, { cause: error });
  }
  child.on('error', () => undefined);
  return child;
}

function pipesOf({ stdin, stdout, stderr }: ChildProcess): Pick<Launched, 'stdin' | 'stdout' | 'stderr'> {
  return { stdin, stdout, stderr };
}

function endOf(child: ChildProcess): Promise<{ exitCode: number | null; signal: string | null }> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
}

async function textOf(stream: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text = (text + String(chunk)).slice(0, 2000);
  return text;
}
