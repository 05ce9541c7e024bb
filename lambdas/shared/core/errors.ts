/** Who an error is laid to: decides retry, denominator and who is told. */
export const BLAMES = ['caller', 'task', 'agent', 'platform'] as const;
export type Blame = (typeof BLAMES)[number];

/** The part of the pipeline an error came from; one word per state. */
export const STAGES = [
  'request',
  'plan',
  'admit',
  'provision',
  'await',
  'stage',
  'setup',
  'run',
  'collect',
  'grade',
  'release',
  'record',
  'close',
  'report',
  'store',
] as const;

export type Stage = (typeof STAGES)[number];

interface ErrorKind {
  readonly stage: Stage;
  readonly blame: Blame;
  /** A state may simply be tried again. */
  readonly retryable: boolean;
}

/** Every error the pipeline declares, by name. State machines may catch these names and no others of ours. */
export const ERROR_KINDS = {
  InvalidRequestError: { stage: 'request', blame: 'caller', retryable: false },
  UnknownAgentError: { stage: 'plan', blame: 'caller', retryable: false },
  UnknownTaskError: { stage: 'plan', blame: 'caller', retryable: false },
  UnknownVariantError: { stage: 'plan', blame: 'caller', retryable: false },
  DuplicateUnitError: { stage: 'plan', blame: 'caller', retryable: false },
  SandboxRefusedError: { stage: 'provision', blame: 'caller', retryable: false },
  PayloadInvalidError: { stage: 'request', blame: 'platform', retryable: false },
  EnvironmentInvalidError: { stage: 'request', blame: 'platform', retryable: false },
  DeadlinePassedError: { stage: 'admit', blame: 'caller', retryable: false },
  BudgetExhaustedError: { stage: 'admit', blame: 'caller', retryable: false },
  SweepCancelledError: { stage: 'admit', blame: 'caller', retryable: false },
  CapacityUnavailableError: { stage: 'provision', blame: 'platform', retryable: true },
  ImageMissingError: { stage: 'provision', blame: 'platform', retryable: false },
  ProvisionFailedError: { stage: 'provision', blame: 'platform', retryable: true },
  SandboxNotReadyError: { stage: 'await', blame: 'platform', retryable: false },
  SandboxLostError: { stage: 'run', blame: 'platform', retryable: false },
  ChannelUnavailableError: { stage: 'run', blame: 'platform', retryable: true },
  StagingFailedError: { stage: 'stage', blame: 'platform', retryable: true },
  TaskLoadError: { stage: 'plan', blame: 'task', retryable: false },
  TaskSetupError: { stage: 'setup', blame: 'task', retryable: false },
  TaskCardError: { stage: 'plan', blame: 'task', retryable: false },
  AgentNotStoppedError: { stage: 'collect', blame: 'agent', retryable: false },
  StopUnconfirmedError: { stage: 'collect', blame: 'platform', retryable: true },
  AgentLaunchError: { stage: 'run', blame: 'platform', retryable: false },
  HeartbeatLostError: { stage: 'run', blame: 'platform', retryable: true },
  CollectFailedError: { stage: 'collect', blame: 'platform', retryable: true },
  GraderFailedError: { stage: 'grade', blame: 'task', retryable: false },
  GraderUnavailableError: { stage: 'grade', blame: 'platform', retryable: true },
  ReferenceMissingError: { stage: 'grade', blame: 'task', retryable: false },
  ReleaseFailedError: { stage: 'release', blame: 'platform', retryable: true },
  TeardownPendingError: { stage: 'close', blame: 'platform', retryable: true },
  RecordConflictError: { stage: 'record', blame: 'platform', retryable: false },
  RecordFailedError: { stage: 'record', blame: 'platform', retryable: true },
  HostRestartedError: { stage: 'run', blame: 'platform', retryable: false },
  ExecutionAbortedError: { stage: 'run', blame: 'platform', retryable: false },
  ConditionFailedError: { stage: 'store', blame: 'platform', retryable: true },
  RowTooLargeError: { stage: 'store', blame: 'platform', retryable: false },
  StoreUnavailableError: { stage: 'store', blame: 'platform', retryable: true },
  StorageFullError: { stage: 'store', blame: 'platform', retryable: false },
  StorageReadOnlyError: { stage: 'store', blame: 'platform', retryable: false },
  ObjectNotFoundError: { stage: 'store', blame: 'platform', retryable: false },
  ObjectExistsError: { stage: 'store', blame: 'platform', retryable: false },
  ChecksumMismatchError: { stage: 'store', blame: 'platform', retryable: true },
  UnsafePathError: { stage: 'collect', blame: 'agent', retryable: false },
} as const satisfies Record<string, ErrorKind>;

export type ErrorName = keyof typeof ERROR_KINDS;

export const ERROR_NAMES: readonly ErrorName[] = Object.keys(ERROR_KINDS).map((name) => name as ErrorName);

/** An error of ours. It crosses processes by `name`; `code` equals it. */
export class ExamHallError extends Error {
  override readonly name: ErrorName;
  readonly code: ErrorName;
  readonly stage: Stage;
  readonly blame: Blame;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(name: ErrorName, message: string, details: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    const kind = ERROR_KINDS[name];
    this.name = name;
    this.code = name;
    this.stage = kind.stage;
    this.blame = kind.blame;
    this.retryable = kind.retryable;
    this.details = details;
  }
}

/** True for errors of ours with that name, also after crossing a process. */
export function isErrorNamed(error: unknown, name: ErrorName): boolean {
  return error instanceof Error && error.name === name;
}
