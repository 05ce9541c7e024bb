import { CONNECTION_NAMES } from '#core/service-faults';

/** How often and how long an adapter tries again, on top of the SDK's own retries. */
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

/** What an action's failures mean. */
export interface FailureRules {
  /** Whether trying again may help. */
  isTransient(error: unknown): boolean;
  /** The error that is thrown when the last try failed for a passing reason. */
  giveUp(tries: number, error: unknown): Error;
}

const TRANSIENT_CODES: ReadonlySet<string> = new Set(CONNECTION_NAMES);

/** Runs an action until it succeeds or fails for good. The action must be safe to repeat. */
export async function repeatWhileTransient<T>(
  policy: RetryPolicy,
  rules: FailureRules,
  action: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await action();
    } catch (error) {
      if (!rules.isTransient(error)) throw error;
      if (tried >= policy.tries) throw rules.giveUp(tried, error);
      const bound = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (tried - 1));
      await policy.sleep(Math.floor(policy.random() * bound));
    }
  }
}

/** A fault on the service's side, or a connection that broke or never was. */
export function isPassingFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('$fault' in error && error.$fault === 'server') return true;
  return 'code' in error && typeof error.code === 'string' && TRANSIENT_CODES.has(error.code);
}
