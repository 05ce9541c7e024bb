import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';

import { ExamHallError } from '#core/errors';

/** How often and how long the adapter tries again, on top of the SDK's own retries. */
export interface RetryPolicy {
  readonly tries: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  sleep(milliseconds: number): Promise<void>;
  /** In [0, 1). */
  random(): number;
}

/** At most 9 waits of 25 ms doubling to 1 s, each drawn from zero to its bound: 3 s on average, 5.6 s at most. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  tries: 10,
  baseDelayMs: 25,
  maxDelayMs: 1_000,
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  random: Math.random,
};

const TRANSIENT_NAMES = new Set([
  'InternalServerError',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'ServiceUnavailable',
  'ThrottlingException',
  'TimeoutError',
  'TransactionConflictException',
  'TransactionInProgressException',
]);
const TRANSIENT_REASONS = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);
const TRANSIENT_CODES = new Set(['EAI_AGAIN', 'ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT']);

/**
 * Runs an action until it succeeds or fails for good. The action must be safe to repeat.
 * @throws StoreUnavailableError when the last try failed for a passing reason; any other error as it came.
 */
export async function withRetries<T>(table: string, policy: RetryPolicy, action: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await action();
    } catch (error) {
      if (!isTransient(error)) throw error;
      if (tried >= policy.tries) throw unavailable(table, tried, error);
      const bound = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (tried - 1));
      await policy.sleep(Math.floor(policy.random() * bound));
    }
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof TransactionCanceledException) {
    const codes = (error.CancellationReasons ?? []).map((reason) => reason.Code ?? 'None');
    const failing = codes.filter((code) => code !== 'None');
    return failing.length > 0 && failing.every((code) => TRANSIENT_REASONS.has(code));
  }
  if (!(error instanceof Error)) return false;
  if (TRANSIENT_NAMES.has(error.name)) return true;
  if ('$fault' in error && error.$fault === 'server') return true;
  return 'code' in error && typeof error.code === 'string' && TRANSIENT_CODES.has(error.code);
}

function unavailable(table: string, tries: number, error: unknown): ExamHallError {
  const seen = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const message = `table ${table} did not take the call in ${tries} tries; the last answer was ${seen}; try again later`;
  return new ExamHallError('StoreUnavailableError', message, { table, tries }, error);
}
