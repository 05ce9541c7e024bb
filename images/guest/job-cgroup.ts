import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The folder of our groups in the machine's own tree; null where there is no cgroup v2 that we may change. */
function ownRoot(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null;
  const mounts = readText('/proc/self/mounts').split('\n');
  const [, mounted] = mounts.find((line) => / cgroup2 /.test(line))?.split(' ') ?? [];
  return mounted === undefined ? null : path.join(mounted, 'examhall');
}

/**
 * Makes a control group for one job: nothing the job starts can leave it, however it forks. What it has others start for it
 * (a terminal of the desktop, a timer) is not in it.
 * @returns its folder, or null where there is none to be had.
 */
export function makeGroup(name: string): string | null {
  const root = ownRoot();
  if (root === null) return null;
  const folder = path.join(root, name);
  try {
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    return null;
  }
}

/** Puts a process in; its children are born there. */
export function joinGroup(folder: string, pid: number): void {
  writeFileSync(path.join(folder, 'cgroup.procs'), String(pid));
}

/** Living processes of the group and of groups made below it. */
export function pidsOfGroup(folder: string): readonly number[] {
  const own = readText(path.join(folder, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);
  return [...own, ...subgroups(folder).flatMap(pidsOfGroup)];
}

/** Kills all of the group at once, also what is being born; nothing on kernels that cannot. */
export function killGroup(folder: string): void {
  try {
    writeFileSync(path.join(folder, 'cgroup.kill'), '1');
  } catch {
    // Whoever looks for survivors kills them one by one.
  }
}

/** Takes an empty group away; one that is not empty stays. */
export function removeGroup(folder: string): void {
  try {
    for (const below of subgroups(folder)) removeGroup(below);
    rmdirSync(folder);
  } catch {
    // It is looked at again by whoever stops the job.
  }
}

function subgroups(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => path.join(folder, entry.name));
  } catch {
    return [];
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
