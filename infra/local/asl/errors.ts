/** A problem in a definition, or a call the service refuses; told apart by `name`, as AWS's API errors are. */
export class ServiceError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

/**
 * An error inside an execution: what Retry and Catch see. `aliases` are further names it is matched under.
 * A missing cause stays missing in the execution's result and is the empty string in `$states.errorOutput`.
 */
export class AslError extends Error {
  readonly causeText: string | undefined;
  readonly aliases: readonly string[];

  constructor(error: string, causeText?: string, aliases: readonly string[] = []) {
    super(causeText ?? error);
    this.name = error;
    this.causeText = causeText;
    this.aliases = aliases;
  }
}

/** Unwinds a branch that was stopped from outside; no Retry and no Catch sees it. */
export class CancelledError extends Error {
  override readonly name = 'Cancelled';
}

export const RUNTIME = 'States.Runtime';
export const DATA_LIMIT_EXCEEDED = 'States.DataLimitExceeded';
export const QUERY_EVALUATION_ERROR = 'States.QueryEvaluationError';
export const TIMEOUT = 'States.Timeout';
export const HEARTBEAT_TIMEOUT = 'States.HeartbeatTimeout';
export const TASK_FAILED = 'States.TaskFailed';
export const ALL = 'States.ALL';
export const ITEM_READER_FAILED = 'States.ItemReaderFailed';
export const RESULT_WRITER_FAILED = 'States.ResultWriterFailed';
export const EXCEEDED_TOLERANCE = 'States.ExceedToleratedFailureThreshold';
export const NO_CHOICE_MATCHED = 'States.NoChoiceMatched';

/** Reserved names a definition may match on; any other `States.` name is a mistake. */
export const RESERVED_ERROR_NAMES: ReadonlySet<string> = new Set([
  ALL,
  DATA_LIMIT_EXCEEDED,
  EXCEEDED_TOLERANCE,
  HEARTBEAT_TIMEOUT,
  ITEM_READER_FAILED,
  NO_CHOICE_MATCHED,
  QUERY_EVALUATION_ERROR,
  RESULT_WRITER_FAILED,
  RUNTIME,
  TASK_FAILED,
  TIMEOUT,
  'States.BranchFailed',
  'States.Permissions',
]);

/** Any thrown value as an execution error; a fault of the interpreter itself ends the execution as `States.Runtime`. */
export function toAslError(thrown: unknown): AslError {
  if (thrown instanceof AslError) return thrown;
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return new AslError(RUNTIME, message);
}
