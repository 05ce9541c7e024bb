import { describe, expect, it } from 'vitest';
import { openUnlessStopped, StoppedError, stopPresses } from '#cli/stop-signals';

describe('a signal to stop', () => {
  it.each([
    ['at once, as timeout sends it to a process and its group', [0, 0], ['first SIGTERM']],
    ['within a second', [0, 999], ['first SIGTERM']],
    ['after a second', [0, 1000], ['first SIGTERM', 'second SIGTERM']],
    ['at once and after a second', [0, 1, 1500], ['first SIGTERM', 'second SIGTERM']],
  ])('that comes again %s counts as this', (_when, times, wanted) => {
    const heard: string[] = [];
    let now = 0;
    const press = stopPresses(
      (signal) => heard.push(`first ${signal}`),
      (signal) => heard.push(`second ${signal}`),
      () => now,
    );
    for (const time of times) {
      now = time;
      press('SIGTERM');
    }
    expect(heard).toEqual(wanted);
  });

  it('that comes twice while something opens lets it close in order', async () => {
    const closed: string[] = [];
    const opening = openUnlessStopped(async () => {
      process.emit('SIGTERM', 'SIGTERM');
      process.emit('SIGTERM', 'SIGTERM');
      return await Promise.resolve({
        session: {
          close: async () => {
            closed.push('session');
            await Promise.resolve();
          },
        },
      });
    });
    await expect(opening).rejects.toThrow(StoppedError);
    expect(closed).toEqual(['session']);
  });
});
