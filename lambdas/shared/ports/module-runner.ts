import type { EvaluationReport } from '#core/evaluation';
import type { StartedService } from '#core/task-module';

/** Caps for published code that runs in a child process with a scrubbed environment. */
export interface ModuleLimits {
  readonly timeoutSeconds: number;
  readonly memoryMiB: number;
  /** KiB of stdout and stderr kept, each; the rest is drained and counted. */
  readonly outputLimitKiB: number;
  /** Size of the returned value as JSON; default 1024. */
  readonly resultLimitKiB?: number;
}

export interface ModuleCall {
  /** Local path of a compiled, self-contained `.mjs`. */
  readonly modulePath: string;
  /** `load`, `start`, `evaluate` or `parse`: the exported function to call. */
  readonly phase: string;
  /**
   * JSON given to the function as its first argument. Its top-level keys are joined by one FileReader per entry
   * of `folders`, by `session` and by `startService`; `load` also gets `paths(variantName)`, derived from `input.dataRoot` and `input.taskId`.
   */
  readonly input: unknown;
  /** Folders read through a FileReader of that name (`output`, `reference`, ...); a folder that is absent reads as empty. */
  readonly folders: Readonly<Record<string, string>>;
  readonly limits: ModuleLimits;
}

/** A way for the child to reach the sandbox: each call is one RPC batch. */
export type SessionCalls = (
  calls: readonly { readonly command: string; readonly params: Readonly<Record<string, unknown>> }[],
  timeoutSeconds: number,
) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** How a child has a service of its task started. @throws ExamHallError TaskSetupError, which the module is told. */
export type ServiceStart = (name: string, input: Readonly<Record<string, unknown>>) => Promise<StartedService>;

/** `unavailable` is the host's own failure: the child could not be started, or died before the module was loaded. */
export type ModuleEnd = EvaluationReport['end'];

/** Something the host failed to do for the child (a session call that broke, a folder that could not be read). */
export type HostFault = NonNullable<EvaluationReport['hostFault']>;

export interface ModuleReport extends EvaluationReport {
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes printed, kept or not. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly durationSeconds: number;
}

/** Runs one exported function of a published module in a child process. Never rejects for what the module does. */
export interface ModuleRunner {
  run(call: ModuleCall, session?: SessionCalls, startService?: ServiceStart): Promise<ModuleReport>;
}
