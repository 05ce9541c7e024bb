import { describe, expect, it } from 'vitest';
import { EXECUTION_SECONDS } from '#core/guest-documents';
import { wallLimitRefusal } from '#core/wall-limit';

describe('the time of an agent', () => {
  it('on EC2 ends an hour before the wait for it does, which is as long as Systems Manager waits', () => {
    expect(EXECUTION_SECONDS.wait).toBe(172_800);
    expect(wallLimitRefusal('aws', 169_200)).toBeNull();
    expect(wallLimitRefusal('aws', 169_201)).toBe(
      'provider aws can give an agent at most 169200 s, not 169201: Systems Manager waits no longer for its end; set a wall time within it',
    );
  });

  it.each(['noop', 'process', 'static', 'constructor'])('has no such bound on %s', (provider) => {
    expect(wallLimitRefusal(provider, 30 * 24 * 3600)).toBeNull();
  });
});
