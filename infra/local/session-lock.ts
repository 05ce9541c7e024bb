import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

const MOST_TRIES = 10;

/**
 * Takes the experiment's lock; a lock whose process is gone is taken over.
 * @returns the release.
 * @throws SessionBusyError naming the process.
 */
export function takeSessionLock(stateDir: string): () => void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const file = path.join(stateDir, 'lock.json');
  const own = JSON.stringify({ pid: process.pid, startTicks: startTicksOf(process.pid), id: randomUUID() });
  // Linked into place whole: nobody ever reads half a lock.
  const draft = path.join(stateDir, `lock.${randomUUID()}`);
  writeFileSync(draft, own);
  try {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      if (isDone(() => linkSync(draft, file), 'EEXIST')) {
        return () => {
          if (readText(file) === own) rmSync(file, { force: true });
        };
      }
      const found = readText(file);
      if (found !== null) removeStale(file, found);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new SessionBusyError(`${file} is taken again and again; another process starts the same experiment`);
}

/** Moves a dead process's lock away, and only that one: another may have taken it over in this moment. */
function removeStale(file: string, found: string): void {
  const holder = holderOf(found);
  if (holder !== null && isAlive(holder)) {
    throw new SessionBusyError(
      `process ${String(holder.pid)} is running this experiment; wait for it or stop it, or give the experiment another name (${file})`,
    );
  }
  const aside = `${file}.${randomUUID()}`;
  if (!isDone(() => renameSync(file, aside), 'ENOENT')) return;
  if (readText(aside) !== found) isDone(() => linkSync(aside, file), 'EEXIST');
  rmSync(aside, { force: true });
}

/** False when it fails with that code. */
function isDone(act: () => void, code: string): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === code) return false;
    throw error;
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function holderOf(text: string): Holder | null {
  try {
    const value: unknown = JSON.parse(text);
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
  } catch (error) {
    // A process of somebody else is alive too.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
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
