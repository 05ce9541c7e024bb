import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Another process works on the same experiment. */
export class SessionBusyError extends Error {
  override readonly name = 'SessionBusyError';
}

interface Holder {
  readonly pid: number;
  /** Clock ticks since boot at which the process started; tells a reused pid apart. Null where /proc is missing. */
  readonly startTicks: string | null;
}

/**
 * Takes the experiment's lock; a lock whose process is gone is taken over.
 * @returns the release.
 * @throws SessionBusyError naming the process.
 */
export function takeSessionLock(stateDir: string): () => void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const file = path.join(stateDir, 'lock.json');
  const own: Holder = { pid: process.pid, startTicks: startTicksOf(process.pid) };
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      writeFileSync(file, JSON.stringify(own), { flag: 'wx' });
      return () => {
        rmSync(file, { force: true });
      };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      const holder = readHolder(file);
      if (holder !== null && isAlive(holder)) {
        throw new SessionBusyError(
          `process ${String(holder.pid)} is running this experiment; wait for it or stop it, or give the experiment another name (${file})`,
        );
      }
      rmSync(file, { force: true });
    }
  }
  throw new SessionBusyError(`${file} is taken again and again; another process starts the same experiment`);
}

function readHolder(file: string): Holder | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof value !== 'object' || value === null || !('pid' in value) || typeof value.pid !== 'number') return null;
    const ticks = 'startTicks' in value && typeof value.startTicks === 'string' ? value.startTicks : null;
    return { pid: value.pid, startTicks: ticks };
  } catch {
    return null;
  }
}

function isAlive({ pid, startTicks }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return startTicks === null || startTicksOf(pid) === startTicks;
}

function startTicksOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
