import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ExamHallError } from '#core/errors';

/** Uids that no account of a computer has: above the range that systemd gives to containers, below 2^31. */
const FIRST_UID = 1_900_000_000;
/** For a host that is itself a container with few uids. */
const FIRST_UID_OF_SMALL_HOST = 60_600;
const COUNT = 4_000;

/** One directory for the whole computer, whatever state folders there are: killing by uid must never hit a neighbour. */
export const DEFAULT_ACCOUNT_LOCKS = '/run/examhall/agent-uids';

interface Lock {
  readonly sandboxId: string;
  readonly folder: string;
}

/** Gives every live sandbox a uid of its own; a lock file, made in one step, holds it until it is freed. */
export class AgentAccounts {
  readonly #lockDir: string;
  readonly #count: number;

  constructor(lockDir: string = DEFAULT_ACCOUNT_LOCKS, count = COUNT) {
    this.#lockDir = lockDir;
    this.#count = count;
  }

  /** The uid of this sandbox, the same one when asked again. @throws CapacityUnavailableError when all are held. */
  claim(lock: Lock): number {
    mkdirSync(this.#lockDir, { recursive: true, mode: 0o700 });
    const held = this.heldBy(lock.sandboxId, lock.folder);
    if (held !== undefined) return held;
    const first = firstUid();
    const start = createHash('sha256').update(lock.folder).digest().readUInt32BE(0) % this.#count;
    for (let step = 0; step < this.#count; step += 1) {
      const uid = first + ((start + step) % this.#count);
      if (!hasProcesses(uid) && this.#take(uid, lock)) return uid;
    }
    for (let uid = first; uid < first + this.#count; uid += 1) {
      if (!hasProcesses(uid) && this.#reclaim(uid) && this.#take(uid, lock)) return uid;
    }
    throw new ExamHallError(
      'CapacityUnavailableError',
      `all ${this.#count} agent uids from ${first} are held by files in ${this.#lockDir}; remove those whose sandbox is gone`,
      { lockDir: this.#lockDir },
    );
  }

  heldBy(sandboxId: string, folder: string): number | undefined {
    for (const name of listOf(this.#lockDir)) {
      const lock = this.#read(Number(name));
      if (lock?.sandboxId === sandboxId && lock.folder === folder) return Number(name);
    }
    return undefined;
  }

  /** Gives the uid up, if it is this sandbox's. */
  free(uid: number, lock: Lock): void {
    const held = this.#read(uid);
    if (held?.sandboxId === lock.sandboxId && held.folder === lock.folder) rmSync(this.#fileOf(uid), { force: true });
  }

  #take(uid: number, lock: Lock): boolean {
    const draft = path.join(this.#lockDir, `.${process.pid}-${lock.sandboxId}`);
    writeFileSync(draft, JSON.stringify(lock), { mode: 0o600 });
    try {
      linkSync(draft, this.#fileOf(uid));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /** Drops the lock of a sandbox whose folder somebody has removed by hand. */
  #reclaim(uid: number): boolean {
    const stale = this.#read(uid);
    if (stale === undefined || existsSync(stale.folder)) return false;
    this.free(uid, stale);
    return true;
  }

  #read(uid: number): Lock | undefined {
    try {
      return JSON.parse(readFileSync(this.#fileOf(uid), 'utf8')) as Lock;
    } catch {
      return undefined;
    }
  }

  #fileOf(uid: number): string {
    return path.join(this.#lockDir, String(uid));
  }
}

/** The uid that trying out the walls uses; no sandbox gets it. */
export function probeUid(): number {
  return firstUid() + COUNT;
}

function firstUid(): number {
  const [inside, , size] = textOf('/proc/self/uid_map').trim().split(/\s+/).map(Number);
  return inside === 0 && size !== undefined && size > FIRST_UID + COUNT ? FIRST_UID : FIRST_UID_OF_SMALL_HOST;
}

/** A uid that somebody works under is not ours to take. */
function hasProcesses(uid: number): boolean {
  return listOf('/proc').some((name) => {
    try {
      return statSync(`/proc/${name}`).uid === uid;
    } catch {
      return false;
    }
  });
}

function listOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
