import { ERROR_KINDS, type ErrorName } from '#core/errors';

/** Exit codes of the command line. */
export const EXIT = { done: 0, notAllCompleted: 1, badInput: 2, ourFault: 3 } as const;

/** Errors whose message says all there is to say; a stack would only hide it. */
const CALLER_NAMES = new Set(['ConfigError', 'SessionBusyError', 'BundleError']);
const STORAGE_NAMES = new Set<string>(['StorageFullError', 'StorageReadOnlyError']);

/** Prints an error for a person and returns the exit code it calls for. */
export function explainError(error: unknown): number {
  if (!(error instanceof Error)) {
    process.stderr.write(`examhall: ${String(error)}\n`);
    return EXIT.ourFault;
  }
  if (isCallers(error)) {
    process.stderr.write(`${error.message}\n`);
    return EXIT.badInput;
  }
  if (STORAGE_NAMES.has(error.name)) {
    process.stderr.write(`${error.name}: ${error.message}\n`);
    return EXIT.ourFault;
  }
  if (error.name === 'RemoteError') {
    process.stderr.write(`${error.message}\n`);
    return 'exitCode' in error && error.exitCode === EXIT.badInput ? EXIT.badInput : EXIT.ourFault;
  }
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.stderr.write(
    'This is a fault of Exam Hall; what had been recorded is safe. Run the same command again to go on.\n',
  );
  return EXIT.ourFault;
}

function isCallers(error: Error): boolean {
  if (CALLER_NAMES.has(error.name)) return true;
  // A task that cannot be published is input as well: nothing has started.
  return error.name in ERROR_KINDS && ['caller', 'task'].includes(ERROR_KINDS[error.name as ErrorName].blame);
}
