import { setTimeout as sleep } from 'node:timers/promises';

const SAMPLE_SECONDS = 5;
/** First look, when a small sweep has all its units open. */
const FIRST_SECONDS = 1;
/** V8 gives the pages that a collection emptied back in the background; within 100 ms here. */
const GIVE_BACK_MS = 200;
const MIB = 1024 * 1024;

/** What a process held while it did something, in MiB. */
export interface MemoryFigures {
  /** Resident after a collection whose pages were given back, the highest of the looks. */
  readonly heldMiB: number;
  /** Objects and buffers after a collection: before, the highest of the looks, and after. */
  readonly liveBeforeMiB: number;
  readonly liveMostMiB: number;
  readonly liveAfterMiB: number;
  /** Resident at any moment of the process's life, garbage included. */
  readonly peakMiB: number;
}

/** Looks at this process's memory every few seconds, each time after a full collection. Needs `--expose-gc`. */
export async function watchMemory(): Promise<{ stop(): Promise<MemoryFigures> }> {
  const before = await look();
  const seen = [before];
  const pending = new Set<Promise<void>>();
  const note = (): void => {
    const looking = look().then((seenNow) => {
      seen.push(seenNow);
      pending.delete(looking);
    });
    pending.add(looking);
  };
  const first = setTimeout(note, FIRST_SECONDS * 1000);
  const regular = setInterval(note, SAMPLE_SECONDS * 1000);
  return {
    stop: async () => {
      clearTimeout(first);
      clearInterval(regular);
      await Promise.all(pending);
      const after = await look();
      return {
        heldMiB: Math.max(...seen.map(({ held }) => held), after.held),
        liveBeforeMiB: before.live,
        liveMostMiB: Math.max(...seen.map(({ live }) => live), after.live),
        liveAfterMiB: after.live,
        peakMiB: process.resourceUsage().maxRSS / 1024,
      };
    },
  };
}

async function look(): Promise<{ readonly held: number; readonly live: number }> {
  if (globalThis.gc === undefined) throw new Error('memory can only be looked at under node --expose-gc');
  // The second collection takes what the first one only set free, such as the memory behind buffers.
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  await sleep(GIVE_BACK_MS);
  return { held: process.memoryUsage.rss() / MIB, live: (heapUsed + external) / MIB };
}
