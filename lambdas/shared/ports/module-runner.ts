/** Caps for published code that runs in a child process with a scrubbed environment. */
export interface ModuleLimits {
  readonly timeoutSeconds: number;
  readonly memoryMiB: number;
  /** Bytes of stdout and stderr kept, each; the rest is drained and counted. */
  readonly outputLimitKiB: number;
}

export interface ModuleCall {
  /** Local path of a compiled, self-contained `.mjs`. */
  readonly modulePath: string;
  /** `load`, `start`, `evaluate` or `parse`: the exported function to call. */
  readonly phase: string;
  /** JSON given to the function as its first argument. */
  readonly input: unknown;
  /** Folder the child may read through its reader; null when the phase needs none. */
  readonly folders: Readonly<Record<string, string>>;
  readonly limits: ModuleLimits;
}

/** A way for the child to reach the sandbox: each call is one RPC batch. */
export type SessionCalls = (calls: readonly { readonly command: string; readonly params: Readonly<Record<string, unknown>> }[], timeoutSeconds: number) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export type ModuleEnd = 'returned' | 'threw' | 'timeout' | 'memory' | 'exited' | 'output' | 'not-json';

export interface ModuleReport {
  readonly end: ModuleEnd;
  /** JSON value returned; `undefined` is told as `{kind: 'undefined'}` by `valueKind`. Numbers that JSON lacks arrive by name in `valueKind`. */
  readonly value: unknown;
  readonly valueKind: 'json' | 'undefined' | 'nan' | 'infinity' | 'not-json';
  readonly errorName: string | null;
  readonly errorMessage: string | null;
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationSeconds: number;
}

/** Runs one exported function of a published module in a child process. Never rejects for what the module does. */
export interface ModuleRunner {
  run(call: ModuleCall, session?: SessionCalls): Promise<ModuleReport>;
}
