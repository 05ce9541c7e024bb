import { createHash, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Sandbox } from '#ports/sandbox-provider';

/** What is known of one attachment to a machine; a new process finds what an earlier one left by these files. */
export interface StaticMarker {
  readonly version: 1;
  readonly state: 'pending' | 'ready' | 'stopped' | 'detached';
  readonly sandboxId: string;
  readonly attemptId: string;
  readonly endpoint: string;
  readonly expiresAt: string;
  readonly knobs: Readonly<Record<string, unknown>>;
  /** Our folder on the machine; null until it has been made. */
  readonly folder: string | null;
  readonly sandbox: Sandbox | null;
}

const ID = /^sbx-[0-9a-f]{20}$/;

/** One file for each attachment. */
export class StaticMarkers {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Made of the client token alone: one token, one attachment. */
  static idOf(clientToken: string): string {
    return `sbx-${createHash('sha256').update(clientToken).digest('hex').slice(0, 20)}`;
  }

  fileOf(sandboxId: string): string {
    return path.join(this.#root, `${sandboxId}.json`);
  }

  read(sandboxId: string): StaticMarker | undefined {
    return ID.test(sandboxId) ? readJson<StaticMarker>(this.fileOf(sandboxId)) : undefined;
  }

  write(marker: StaticMarker): void {
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    const draft = path.join(this.#root, `.${marker.sandboxId}-${randomBytes(6).toString('hex')}`);
    writeFileSync(draft, JSON.stringify(marker, null, 2), { mode: 0o600 });
    renameSync(draft, this.fileOf(marker.sandboxId));
  }

  remove(sandboxId: string): void {
    rmSync(this.fileOf(sandboxId), { force: true });
  }

  ids(): string[] {
    return namesIn(this.#root)
      .map((name) => name.replace(/\.json$/, ''))
      .filter((name) => ID.test(name))
      .sort();
  }
}

/** Who has a machine. */
export interface EndpointHolder {
  readonly endpoint: string;
  readonly sandboxId: string;
  readonly attemptId: string;
  /** The holder's marker: as long as it is there, so is the attachment, whether or not its process lives. */
  readonly marker: string;
  readonly pid: number;
  /** Clock ticks since boot at which that process started; tells a reused pid apart. Null where /proc is missing. */
  readonly startTicks: string | null;
}

/** One folder for the whole computer: experiments of all folders share a machine's address. */
export const DEFAULT_ENDPOINT_LOCKS =
  process.getuid?.() === 0
    ? '/run/examhall/static-endpoints'
    : path.join(os.tmpdir(), `examhall-static-endpoints-${String(process.getuid?.() ?? os.userInfo().username)}`);

/** One attachment for each address at a time; held by a file, so that a killed process does not open it to others. */
export class EndpointLocks {
  readonly #folder: string;

  constructor(folder: string = DEFAULT_ENDPOINT_LOCKS) {
    this.#folder = folder;
  }

  /** Undefined when the machine is now ours, else who has it. */
  take(endpoint: string, own: Pick<EndpointHolder, 'sandboxId' | 'attemptId' | 'marker'>): EndpointHolder | undefined {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.#fileOf(endpoint);
    const draft = path.join(this.#folder, `.${randomBytes(8).toString('hex')}`);
    const holder: EndpointHolder = { endpoint, ...own, pid: process.pid, startTicks: startTicksOf(process.pid) };
    writeFileSync(draft, JSON.stringify(holder), { mode: 0o600 });
    try {
      for (;;) {
        if (linked(draft, file)) return undefined;
        const found = readJson<EndpointHolder>(file);
        if (found?.sandboxId === own.sandboxId && found.marker === own.marker) return undefined;
        if (found !== undefined && isHeld(found)) return found;
        this.#moveAside(file, found);
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /** Gives the machine up, if it is this attachment's. */
  free(endpoint: string, sandboxId: string): void {
    const file = this.#fileOf(endpoint);
    if (readJson<EndpointHolder>(file)?.sandboxId === sandboxId) rmSync(file, { force: true });
  }

  /** Drops a lock nobody holds, and only that one: another process may have taken it over in this moment. */
  #moveAside(file: string, found: EndpointHolder | undefined): void {
    const aside = `${file}.${randomBytes(8).toString('hex')}`;
    try {
      renameSync(file, aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    const moved = readJson<EndpointHolder>(aside);
    if (moved !== undefined && moved.sandboxId !== found?.sandboxId) linked(aside, file);
    rmSync(aside, { force: true });
  }

  #fileOf(endpoint: string): string {
    return path.join(this.#folder, `${createHash('sha256').update(endpoint).digest('hex').slice(0, 32)}.json`);
  }
}

/** Held by a marker that is there, or by a process that has not come to write one. */
function isHeld(holder: EndpointHolder): boolean {
  if (readJson(holder.marker) !== undefined) return true;
  return startTicksOf(holder.pid) !== null && startTicksOf(holder.pid) === holder.startTicks;
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function startTicksOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
