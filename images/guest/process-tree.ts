import type { LaunchNote } from './job-folder.ts';
import type { ProcessIdentity, ProcessRow, ProcessTable } from './process-table.ts';

const LOOK_MS = 500;
const SLOW_LOOK_MS = 30_000;

/**
 * The descendants of one process, for jobs that share the runner's own account and have no namespace. Followed by parent,
 * group and session; a process that leaves all three between two looks is not seen, which is why such a job's record says
 * `isolation: none`.
 */
export class ProcessTree {
  readonly #known = new Map<number, string>();
  readonly #rootPid: number;

  constructor(rootPid: number) {
    this.#rootPid = rootPid;
  }

  /** Looks once and remembers what belongs to the tree. */
  look(table: ProcessTable): void {
    this.living(table);
  }

  /**
   * Looks again and again until it is told to stop: twice a second, or where a look is slow twice a minute and beside other work.
   * When the processes cannot be listed now, the next look sees them.
   */
  follow(table: ProcessTable): () => void {
    let isLooking = false;
    const look = async (): Promise<void> => {
      if (isLooking) return;
      isLooking = true;
      await table.rowsLater().then(
        (rows) => this.#take(rows),
        () => undefined,
      );
      isLooking = false;
    };
    void look();
    const timer = setInterval(() => void look(), table.isSlow ? SLOW_LOOK_MS : LOOK_MS);
    return () => clearInterval(timer);
  }

  /** What belongs to the tree and lives. */
  living(table: ProcessTable): ProcessRow[] {
    return this.#take(table.rows());
  }

  #take(rows: readonly ProcessRow[]): ProcessRow[] {
    // Nobody: the processes of a machine descend from what has no pid of its own.
    if (this.#rootPid <= 0) return [];
    const byPid = new Map(rows.map((row) => [row.pid, row]));
    const isKnown = (row: ProcessRow): boolean => this.#known.get(row.pid) === row.startedAt;
    const belongs = (row: ProcessRow): boolean => {
      if (isKnown(row)) return true;
      if (row.pid === this.#rootPid || row.groupId === this.#rootPid || row.sessionId === this.#rootPid) return true;
      const parent = byPid.get(row.parentPid);
      if (parent !== undefined && isKnown(parent) && !isOlder(row, parent)) return true;
      const leader = byPid.get(row.sessionId);
      return leader !== undefined && leader.pid !== 1 && isKnown(leader);
    };
    // Parents come before children in no particular order, so until nothing new is found.
    for (let before = -1; before !== this.#known.size;) {
      before = this.#known.size;
      for (const row of rows) if (!isKnown(row) && belongs(row)) this.#known.set(row.pid, row.startedAt);
    }
    return rows.filter(isKnown);
  }
}

/** Windows goes on naming a parent that is gone, whose pid may be another process's by then. */
function isOlder(row: ProcessRow, parent: ProcessRow): boolean {
  const [own, parents] = [row.startedAt, parent.startedAt];
  return /^\d+$/.test(own) && /^\d+$/.test(parents) && BigInt(own) < BigInt(parents);
}

/** Null for a command that is found by its namespace, or by the account whose session runs it. */
export function treeOfLaunch({ namespace, session, launcher }: LaunchNote): ProcessTree | null {
  return namespace === null && session === undefined ? new ProcessTree(launcher.pid) : null;
}

/** The tree of a command noted by a supervisor that is gone; null when its pid has been given to somebody else. */
export function treeOfNote(launcher: ProcessIdentity, table: ProcessTable): ProcessTree | null {
  const now = table.identityOf(launcher.pid);
  const isSomebodyElse = now !== undefined && now.startedAt !== launcher.startedAt;
  const self = table.identityOf(process.pid);
  return isSomebodyElse || self?.bootId !== launcher.bootId ? null : new ProcessTree(launcher.pid);
}
