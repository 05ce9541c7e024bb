import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';

import { ExamHallError } from '#core/errors';
import { CONFLICT_NAMES, CONNECTION_NAMES, SERVICE_FAULT_NAMES, THROTTLING_NAMES } from '#core/service-faults';

import { isPassingFault, repeatWhileTransient, type RetryPolicy } from './retry-policy.ts';

const TRANSIENT_NAMES: ReadonlySet<string> = new Set([
  ...CONFLICT_NAMES,
  ...CONNECTION_NAMES,
  ...SERVICE_FAULT_NAMES,
  ...THROTTLING_NAMES,
]);
const TRANSIENT_REASONS = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

/**
 * Runs an action until it succeeds or fails for good. The action must be safe to repeat.
 * @throws StoreUnavailableError when the last try failed for a passing reason; any other error as it came.
 */
export async function withRetries<T>(table: string, policy: RetryPolicy, action: () => Promise<T>): Promise<T> {
  const giveUp = (tries: number, error: unknown): Error => unavailable(table, tries, error);
  return repeatWhileTransient(policy, { isTransient, giveUp }, action);
}

function isTransient(error: unknown): boolean {
  if (error instanceof TransactionCanceledException) {
    const codes = (error.CancellationReasons ?? []).map((reason) => reason.Code ?? 'None');
    const failing = codes.filter((code) => code !== 'None');
    return failing.length > 0 && failing.every((code) => TRANSIENT_REASONS.has(code));
  }
  return isPassingFault(error) || (error instanceof Error && TRANSIENT_NAMES.has(error.name));
}

function unavailable(table: string, tries: number, error: unknown): ExamHallError {
  const seen = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const message = `table ${table} did not take the call in ${tries} tries; the last answer was ${seen}; try again later`;
  return new ExamHallError('StoreUnavailableError', message, { table, tries }, error);
}
