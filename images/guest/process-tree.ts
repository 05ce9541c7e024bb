import type { ProcessIdentity, ProcessRow, ProcessTable } from './process-table.ts';

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

  /** What belongs to the tree and lives. */
  living(table: ProcessTable): ProcessRow[] {
    const rows = table.rows();
    const byPid = new Map(rows.map((row) => [row.pid, row]));
    const isKnown = (row: ProcessRow): boolean => this.#known.get(row.pid) === row.startedAt;
    const belongs = (row: ProcessRow): boolean => {
      if (isKnown(row)) return true;
      if (row.pid === this.#rootPid || row.groupId === this.#rootPid || row.sessionId === this.#rootPid) return true;
      const parent = byPid.get(row.parentPid);
      if (parent !== undefined && isKnown(parent)) return true;
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

/** The tree of a command noted by a supervisor that is gone; null when its pid has been given to somebody else. */
export function treeOfNote(launcher: ProcessIdentity, table: ProcessTable): ProcessTree | null {
  const now = table.identityOf(launcher.pid);
  const isSomebodyElse = now !== undefined && now.startedAt !== launcher.startedAt;
  const self = table.identityOf(process.pid);
  return isSomebodyElse || self?.bootId !== launcher.bootId ? null : new ProcessTree(launcher.pid);
}
