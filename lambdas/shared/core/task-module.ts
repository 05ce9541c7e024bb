/** What `load` is told: where data will lie in the sandbox at hand. */
export interface LoadContext {
  readonly os: 'linux' | 'windows';
  /** Folder that holds `<domain>/<task>/<variant>`. */
  readonly dataRoot: string;
  /** Absolute folders of one variant, in the guest's path style. */
  paths(variantName: string): TaskPaths;
}

export interface TaskPaths {
  readonly root: string;
  readonly input: string;
  readonly software: string;
  readonly output: string;
}

/** One variant; its place in the list `load` returns is the variant index. */
export interface TaskVariant {
  /** Folder name below `input/`, `reference/`, ... */
  readonly name: string;
  /** The whole instruction given to the agent. */
  readonly prompt: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CommandResult {
  readonly success: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly returnCode: number;
}

/** The sandbox as a task sees it; all paths absolute, in the guest's style; everything runs as the agent's account. */
export interface Session {
  /** A fresh shell for each call. With `check` (default false) a non-zero code throws SessionCommandError. */
  runCommand(
    command: string,
    options?: { readonly check?: boolean; readonly timeoutSeconds?: number },
  ): Promise<CommandResult>;
  readFile(path: string): Promise<string>;
  readBytes(path: string): Promise<Uint8Array>;
  writeFile(path: string, content: string): Promise<void>;
  writeBytes(path: string, content: Uint8Array): Promise<void>;
  fileExists(path: string): Promise<boolean>;
  directoryExists(path: string): Promise<boolean>;
  /** Names only, sorted. */
  listDir(path: string): Promise<readonly string[]>;
  createDir(path: string): Promise<void>;
  /** PNG. Throws SessionUnavailableError in a sandbox without a screen. */
  screenshot(): Promise<Uint8Array>;
  /**
   * Opens a program on the screen as the agent's account; it outlives the call. Throws SessionUnavailableError in a sandbox
   * without a screen, SessionCallError when the program cannot be started.
   */
  launch(app: string, args?: readonly string[]): Promise<{ readonly pid: number }>;
}

/**
 * Read-only view of one folder; paths are relative, `/`-separated; `..` is refused with UnsafePathError, and so is reading a
 * link or device. In `reference` a missing file is a ReferenceMissingError instead: a grader must not take it for a 0.
 */
export interface FileReader {
  /** True for a regular file only. */
  exists(path: string): Promise<boolean>;
  /** Bytes; throws FileMissingError. */
  sizeBytes(path: string): Promise<number>;
  /** UTF-8; throws FileMissingError, or FileTooLargeError above `maxBytes` (default 64 MiB). */
  readText(path: string, maxBytes?: number): Promise<string>;
  readBytes(path: string, maxBytes?: number): Promise<Uint8Array>;
  /** All regular files below the folder, relative paths, sorted. */
  list(folder?: string): Promise<readonly string[]>;
}

export interface StartContext {
  readonly variant: TaskVariant;
  readonly variantIndex: number;
  readonly paths: TaskPaths;
  readonly session: Session;
  /** 64 hex digits that this attempt alone has; `evaluate` gets the same. Never give it to the session. */
  readonly secret: string;
  /**
   * Starts `services/<name>.ts` beside the agent, as an account the agent has no hold of, in the network the agent sees.
   * `input` is all it gets, as JSON on standard input. Resolves once it has printed `{"port": n}`; it runs until the
   * sandbox is released. Throws TaskSetupError when it ends, or says nothing in time, with the end of its errors.
   */
  startService(name: string, input: Readonly<Record<string, unknown>>): Promise<StartedService>;
}

export interface StartedService {
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
}

export interface EvaluateContext {
  readonly variant: TaskVariant;
  readonly variantIndex: number;
  /** Paths in the sandbox; useful with `session` only. */
  readonly paths: TaskPaths;
  /** What the agent left in its output folder, as collected. */
  readonly output: FileReader;
  readonly reference: FileReader;
  readonly input: FileReader;
  /** What `start` got. */
  readonly secret: string;
  /** The agent's own sandbox after the agent is dead; null unless the card's grading mode is `same-sandbox`. */
  readonly session: Session | null;
}

/** A score in [0,1], alone or with details that are kept in the record. */
export type Evaluation = number | { readonly score: number; readonly [detail: string]: unknown };

/** What a `task.ts` exports. `start` may be missing. */
export interface TaskModule {
  load(context: LoadContext): readonly TaskVariant[] | Promise<readonly TaskVariant[]>;
  start?(context: StartContext): void | Promise<void>;
  evaluate(context: EvaluateContext): Evaluation | Promise<Evaluation>;
}
