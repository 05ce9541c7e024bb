import { describe, expect, it } from 'vitest';
import { categoryOf, TERMINATION_CATEGORIES, terminationOf } from '#core/termination';

const EXAMPLES = {
  rate_limited: 'API Error 429 {"type":"rate_limit_error"}',
  vm_quota_exhausted: "Quota 'C4_CPUS' exceeded in region us-central1",
  auth_failed: 'Invalid API key provided',
  gcs_missing: 'CommandException: No URLs matched: gs://bucket/x',
  transport_error: 'connect: Connection refused',
  rpc_timeout: 'the call timed out after 60 s',
} as const;

describe('categoryOf', () => {
  it.each(TERMINATION_CATEGORIES)('finds %s', (category) => {
    expect(categoryOf(EXAMPLES[category])).toBe(category);
  });

  it('lets the first category win and has none for other text', () => {
    expect(categoryOf('429 Too Many Requests: quota, connection reset, timed out')).toBe('rate_limited');
    expect(categoryOf('connection reset: timed out')).toBe('transport_error');
    expect(categoryOf('index out of range')).toBeNull();
  });
});

describe('terminationOf', () => {
  const error = { type: 'SandboxLostError', message: 'timed out', traceback: 'SandboxLostError: timed out' };

  it('has neither phase nor category for a completed unit', () => {
    expect(terminationOf('completed', 'cleanup', null)).toEqual({
      reason: 'completed',
      phase: null,
      category: null,
      error: null,
    });
  });

  it('keeps the phase but never a category when cancelled', () => {
    expect(terminationOf('cancelled', 'agent_run', error)).toMatchObject({ phase: 'agent_run', category: null });
  });

  it('classes a failure by its text', () => {
    expect(terminationOf('failed', 'agent_run', error)).toEqual({
      reason: 'failed',
      phase: 'agent_run',
      category: 'rpc_timeout',
      error,
    });
    expect(terminationOf('timeout', 'agent_run', null, 'wall budget exceeded').category).toBeNull();
  });
});
