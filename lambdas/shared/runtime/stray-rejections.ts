import type { Log } from '#ports/ports';

/**
 * Writes a promise that was rejected with nobody waiting for it into the log as a line of its own. The process ends by it
 * as it would have without: what it was doing is unknown.
 */
export function logStrayRejections(log: Log, functionName: string): void {
  process.on('unhandledRejection', (reason) => {
    const [errorName, message] = reason instanceof Error ? [reason.name, reason.message] : ['unknown', String(reason)];
    log.error('function.failed', { function: functionName, isUnhandled: true, errorName, message });
    if (process.listenerCount('unhandledRejection') === 1) throw reason;
  });
}
