/** Resumes callbacks of the state machines. A token that is gone answers `false`, which callers take as "already done". */
export interface TaskTokens {
  succeed(token: string, output: unknown): Promise<boolean>;
  fail(token: string, error: string, cause: string): Promise<boolean>;
  heartbeat(token: string): Promise<boolean>;
}

/** Starts and stops executions. Starting the same name with the same input again is the same execution. */
export interface Executions {
  start(machine: 'sweep' | 'unit' | 'grade', name: string, input: unknown): Promise<{ readonly executionArn: string }>;
  stop(executionArn: string, error: string, cause: string): Promise<void>;
}

/** Publishes facts for event-driven functions. At least once; consumers must not mind repeats. */
export interface Events {
  publish(detailType: string, detail: Readonly<Record<string, unknown>>): Promise<void>;
}

/** One-time timers that call `expire-sandbox`. Creating the same name again replaces nothing and is no error. */
export interface Timers {
  create(name: string, atIso: string, payload: Readonly<Record<string, unknown>>): Promise<void>;
  remove(name: string): Promise<void>;
  exists(name: string): Promise<boolean>;
}

/** Names that must never repeat, and secrets that cannot be guessed. */
export interface Ids {
  next(): string;
  /** 32 random bytes as 64 lower-case hex digits. */
  secret(): string;
}
