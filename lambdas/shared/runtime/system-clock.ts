import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '#ports/clock';

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (milliseconds, signal) => {
    await sleep(milliseconds, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      throw signal?.aborted === true ? signal.reason : error;
    });
  },
};
