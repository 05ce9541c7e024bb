import type { Phase, UnitStatus } from './status.ts';

/** Upstream's coarse classes of an error text. */
export const TERMINATION_CATEGORIES = [
  'rate_limited',
  'vm_quota_exhausted',
  'auth_failed',
  'gcs_missing',
  'transport_error',
  'rpc_timeout',
] as const;
export type TerminationCategory = (typeof TERMINATION_CATEGORIES)[number];

/** Tried in this order, on lower-cased text; the first that is contained decides. */
const CATEGORY_WORDS: Readonly<Record<TerminationCategory, readonly string[]>> = {
  rate_limited: ['429', 'too many requests', 'rate limit', 'ratelimit'],
  vm_quota_exhausted: [
    'quota',
    'stockout',
    'resource_exhausted',
    'cpus_per_vm_family',
    'does not have enough resources',
  ],
  auth_failed: [
    '401',
    '403',
    'unauthorized',
    'forbidden',
    'permission denied',
    'authentication_failed',
    'invalid api key',
    'llm auth failed',
    'user not found',
  ],
  gcs_missing: ['no such object', 'no urls matched', 'matched no objects', 'bucketnotfoundexception'],
  transport_error: [
    '503',
    'service unavailable',
    'connection reset',
    'connection refused',
    'broken pipe',
    'deadline exceeded',
    'remote end closed connection',
  ],
  rpc_timeout: ['timeout', 'timed out'],
};

export interface TerminationError {
  readonly type: string;
  readonly message: string;
  readonly traceback: string;
}

/** `termination` of run.json. */
export interface Termination {
  readonly reason: UnitStatus;
  readonly phase: Phase | null;
  readonly category: TerminationCategory | null;
  readonly error: TerminationError | null;
}

/** Upstream's class of an error text; null when none fits. */
export function categoryOf(errorText: string): TerminationCategory | null {
  const text = errorText.toLowerCase();
  return TERMINATION_CATEGORIES.find((each) => CATEGORY_WORDS[each].some((word) => text.includes(word))) ?? null;
}

/** The `termination` block: a completed unit has no phase, and a cancelled one never a category. */
export function terminationOf(
  status: UnitStatus,
  phase: Phase | null,
  error: TerminationError | null,
  errorText: string | null = error?.message ?? null,
): Termination {
  return {
    reason: status,
    phase: status === 'completed' ? null : phase,
    category: status === 'cancelled' || status === 'completed' || errorText === null ? null : categoryOf(errorText),
    error,
  };
}
