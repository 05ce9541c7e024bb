/** One finished run found in the tree. */
export interface FinishedRun {
  readonly runDir: string;
  readonly status: string;
  readonly revision: string | null;
  readonly score: number | null;
  /** Ledger class as the run's record.json has it; null without one. */
  readonly ledgerClass: string | null;
}

/**
 * The run tree that upstream's readers know: `<agent>/<model>/<task>/v<i>/<stamp>/...`.
 * All paths are relative with `/`; implementations refuse any that would leave the tree.
 */
export interface RunTree {
  /** Makes the run folder, adding `_01`, `_02`, ... when the stamp is taken, and returns its path. */
  open(unitDir: string, stamp: string): Promise<string>;
  /** Adds one line to `events.jsonl` and waits until it is durable. */
  appendEvent(runDir: string, line: string): Promise<void>;
  /** Writes a whole file, replacing it. */
  write(runDir: string, path: string, content: Uint8Array | string): Promise<void>;
  /** Copies an object of the artifacts bucket into the tree. */
  copyObject(runDir: string, path: string, key: string): Promise<void>;
  makeDir(runDir: string, path: string): Promise<void>;
  /** Every regular file below the run folder with its hash, in path order. */
  list(
    runDir: string,
  ): Promise<readonly { readonly path: string; readonly sizeBytes: number; readonly sha256: string }[]>;
  /** Runs of a unit folder that have a run.json. */
  finished(unitDir: string): Promise<readonly FinishedRun[]>;
}
