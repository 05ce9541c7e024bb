import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

/** One directory for the whole computer; each file holds the uid it is named by. */
const UID_LOCKS = '/run/examhall/agent-uids';

/** Of the process and the desktop provider. */
const SANDBOX_FOLDERS = ['sandboxes', 'desktops'] as const;

/** What a test must not leave behind, each as a line that says what it is. */
export interface Leftovers {
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  readonly sandboxes: readonly string[];
  readonly heldUids: readonly string[];
}

export const NOTHING: Leftovers = { processes: [], mounts: [], sandboxes: [], heldUids: [] };

/**
 * Everything of the sandboxes below `folder` that is still there: processes that name the folder or run as one of the
 * uids, mounts, sandbox folders and held uids. `treeRoot` is the run tree of one experiment in it.
 */
export function leftoversOf(folder: string, treeRoot: string, uids: readonly number[]): Leftovers {
  return {
    processes: pids().flatMap((pid) => processOf(pid, folder, uids)),
    mounts: textOf('/proc/self/mountinfo')
      .split('\n')
      .filter((line) => line.includes(folder)),
    sandboxes: SANDBOX_FOLDERS.flatMap((name) => namesIn(path.join(treeRoot, '.examhall', name))),
    heldUids: heldUidsOf(folder),
  };
}

/** Ends what a failed test has left below its own folder: processes each by pid, and the uids its sandboxes held. */
export function endLeftovers(folder: string): void {
  for (const pid of pids().filter((each) => processOf(each, folder, []).length > 0)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
  for (const name of heldUidsOf(folder)) rmSync(path.join(UID_LOCKS, name), { force: true });
}

/** Uids that the sandboxes of an experiment have now. */
export function uidsInUse(treeRoot: string): number[] {
  const folders = SANDBOX_FOLDERS.map((name) => path.join(treeRoot, '.examhall', name));
  const markers = folders.flatMap((folder) => namesIn(folder).map((name) => path.join(folder, name, 'sandbox.json')));
  return markers.flatMap((file) => {
    const match = /"uid": (\d+)/u.exec(textOf(file));
    return match?.[1] === undefined ? [] : [Number(match[1])];
  });
}

function heldUidsOf(folder: string): string[] {
  return namesIn(UID_LOCKS).filter((name) => textOf(path.join(UID_LOCKS, name)).includes(`"${folder}/`));
}

function processOf(pid: number, folder: string, uids: readonly number[]): string[] {
  if (pid === process.pid) return [];
  const command = textOf(`/proc/${String(pid)}/cmdline`)
    .replaceAll('\0', ' ')
    .trim();
  const status = textOf(`/proc/${String(pid)}/status`);
  if (/^State:\s+[ZX]/mu.test(status)) return [];
  const uid = Number(/^Uid:\s+(\d+)/mu.exec(status)?.[1] ?? -1);
  return command.includes(folder) || uids.includes(uid) ? [`${String(pid)} (uid ${String(uid)}): ${command}`] : [];
}

function pids(): number[] {
  return namesIn('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number);
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
