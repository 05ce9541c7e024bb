import { describe, expect, it } from 'vitest';
import { CLEANUP_MODES, cleanupModesOf, cleanupRefusal } from '#core/cleanup-mode';

describe('cleanup modes', () => {
  it('are upstream’s three and ours', () => {
    expect(CLEANUP_MODES).toEqual(['delete', 'stop', 'keep', 'detach']);
  });

  it.each(['aws', 'process', 'desktop', 'constructor'])('are all there for provider %s', (provider) => {
    expect(cleanupModesOf(provider)).toEqual(CLEANUP_MODES);
    for (const mode of CLEANUP_MODES) expect(cleanupRefusal(provider, mode)).toBeNull();
  });

  it('are all but stop for machines that somebody else switches on and off', () => {
    expect(cleanupModesOf('static')).toEqual(['delete', 'keep', 'detach']);
    expect(cleanupRefusal('static', 'stop')).toBe(
      'provider static cannot be asked for cleanup mode stop: its machines are switched on and off by whoever gave them',
    );
    expect(cleanupRefusal('static', 'keep')).toBeNull();
  });
});
