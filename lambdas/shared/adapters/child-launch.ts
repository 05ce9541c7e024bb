import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** How a child is walled off, strongest first; a host uses the first one that works on it. */
export type ChildIsolation = 'namespaces' | 'unprivileged-namespaces' | 'account' | 'process';

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface ChildCommandOptions {
  readonly isolation: ChildIsolation;
  readonly node: string;
  readonly nodeVersion: string;
  /** The only folder the child may read, with a trailing separator. */
  readonly folder: string;
  readonly memoryMiB: number;
  readonly timeoutSeconds: number;
  readonly script: readonly string[];
}

/** A folder of one call: the entry, the module and an empty working folder. */
export interface ChildFolder {
  readonly root: string;
  readonly entry: string;
  readonly module: string;
  readonly workFolder: string;
}

const NOBODY = '65534';
/** A host that is killed takes its children along. Without this a child sees its pipe close, or meets its CPU limit. */
const DIES_WITH_PARENT = ['--pdeathsig', 'KILL'];
/** What Node takes beside the heap: its own data, thread stacks and buffers. */
const MEMORY_OVERHEAD_MIB = 256;
/** Since Node 22 the room reserved for compiled code counts as well, used or not. */
const CODE_RANGE_MIB = 512;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_OPEN_FILES = 256;
const PROBE_TIMEOUT_MILLISECONDS = 10_000;

/** The environment of every child; nothing of the host's own is passed on. */
export const CHILD_ENVIRONMENT: Readonly<Record<string, string>> = {
  TZ: 'UTC',
  LANG: 'C.UTF-8',
  ...(process.platform === 'win32' ? { SystemRoot: process.env['SystemRoot'] ?? 'C:\\Windows' } : {}),
};

/** Builds the command line of a child. Node's permission model leaves it no file, process, thread or addon beyond `folder`. */
export function childCommand(options: ChildCommandOptions): ChildCommand {
  const node = [
    options.node,
    permissionFlag(options.nodeVersion),
    `--allow-fs-read=${options.folder}`,
    '--no-warnings',
    `--max-old-space-size=${options.memoryMiB}`,
    ...options.script,
  ];
  const [command = options.node, ...args] = wrap(options, node);
  return { command, args };
}

function wrap(options: ChildCommandOptions, node: readonly string[]): readonly string[] {
  if (options.isolation === 'process' && !existsSync(tool('prlimit'))) return node;
  const limited = [
    tool('prlimit'),
    '--core=0',
    `--cpu=${options.timeoutSeconds + 5}`,
    `--fsize=${MAX_FILE_BYTES}`,
    `--nofile=${MAX_OPEN_FILES}`,
    `--data=${dataLimitMiB(options) * 1024 * 1024}`,
    '--',
  ];
  const dropped = [
    tool('setpriv'),
    ...['--reuid', NOBODY, '--regid', NOBODY, '--clear-groups'],
    ...['--no-new-privs', '--bounding-set', '-all', '--inh-caps', '-all', ...DIES_WITH_PARENT, '--'],
  ];
  // A shell is the first process of the namespace: Node must not be, signals do not end a first process.
  const namespace = [
    '--net',
    '--pid',
    '--ipc',
    '--fork',
    '--kill-child',
    '--',
    '/bin/sh',
    '-c',
    'unset PWD; "$@"; exit $?',
    'sh',
  ];
  switch (options.isolation) {
    case 'namespaces':
      return [
        tool('setpriv'),
        ...DIES_WITH_PARENT,
        '--',
        tool('unshare'),
        ...namespace,
        ...limited,
        ...dropped,
        ...node,
      ];
    case 'unprivileged-namespaces':
      return [tool('unshare'), '--user', '--map-current-user', ...namespace, ...limited, ...node];
    case 'account':
      return [...limited, ...dropped, ...node];
    case 'process':
      return [...limited, ...node];
  }
}

/** The strongest isolation under which Node starts here. */
export async function probeIsolation(node: string, nodeVersion: string): Promise<ChildIsolation> {
  if (process.platform !== 'linux') return 'process';
  const isRoot = process.getuid?.() === 0;
  const ladder: readonly ChildIsolation[] = isRoot ? ['namespaces', 'account'] : ['unprivileged-namespaces'];
  for (const isolation of ladder) {
    const probe = childCommand({
      isolation,
      node,
      nodeVersion,
      folder: '/nonexistent/',
      memoryMiB: 64,
      timeoutSeconds: 10,
      script: ['-e', '0'],
    });
    if (await startsWell(probe)) return isolation;
  }
  return 'process';
}

/** Lays out the files of one call where an account without rights can read them. */
export async function makeChildFolder(entry: string, modulePath: string): Promise<ChildFolder> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'examhall-child-')));
  const folder: ChildFolder = {
    root,
    entry: path.join(root, 'entry.mjs'),
    module: path.join(root, 'module.mjs'),
    workFolder: path.join(root, 'work'),
  };
  try {
    await chmod(root, 0o755);
    await mkdir(folder.workFolder, { mode: 0o755 });
    await copyFile(entry, folder.entry);
    await copyFile(modulePath, folder.module);
    await chmod(folder.entry, 0o444);
    await chmod(folder.module, 0o444);
    return folder;
  } catch (error) {
    await removeChildFolder(folder);
    throw error;
  }
}

export async function removeChildFolder(folder: ChildFolder): Promise<void> {
  await rm(folder.root, { recursive: true, force: true });
}

/** Ends a child with everything in its process group; a namespace dies with its first process. */
export function killTree(pid: number): void {
  try {
    if (process.platform === 'win32') {
      spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true }).unref();
    } else {
      process.kill(-pid, 'SIGKILL');
    }
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!isGone) throw error;
  }
}

function dataLimitMiB({ memoryMiB, nodeVersion }: ChildCommandOptions): number {
  const { major } = versionOf(nodeVersion);
  return memoryMiB + MEMORY_OVERHEAD_MIB + (major >= 22 ? CODE_RANGE_MIB : 0);
}

/** Node 20 knows the permission model by its first name only. */
function permissionFlag(nodeVersion: string): string {
  const { major, minor } = versionOf(nodeVersion);
  const isStable = major >= 24 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13);
  return isStable ? '--permission' : '--experimental-permission';
}

function versionOf(nodeVersion: string): { readonly major: number; readonly minor: number } {
  const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number);
  return { major, minor };
}

function tool(name: string): string {
  const found = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].find((folder) => existsSync(path.join(folder, name)));
  return path.join(found ?? '/usr/bin', name);
}

function startsWell({ command, args }: ChildCommand): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: 'ignore',
      env: CHILD_ENVIRONMENT,
      timeout: PROBE_TIMEOUT_MILLISECONDS,
      killSignal: 'SIGKILL',
    });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
