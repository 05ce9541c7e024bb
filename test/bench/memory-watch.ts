const SAMPLE_SECONDS = 5;
/** First look, when a small sweep has all its units open. */
const FIRST_SECONDS = 1;
const MIB = 1024 * 1024;

/** What a process held while it did something, in MiB. */
export interface MemoryFigures {
  /** Resident after a collection, the highest of the looks. */
  readonly heldMiB: number;
  /** Objects and buffers after a collection: before, the highest of the looks, and after. */
  readonly liveBeforeMiB: number;
  readonly liveMostMiB: number;
  readonly liveAfterMiB: number;
  /** Resident at any moment of the process's life, garbage included. */
  readonly peakMiB: number;
}

/** Looks at this process's memory every few seconds, each time after a full collection. Needs `--expose-gc`. */
export function watchMemory(): { stop(): MemoryFigures } {
  const before = look();
  const seen = [before];
  const note = (): void => {
    seen.push(look());
  };
  const first = setTimeout(note, FIRST_SECONDS * 1000);
  const regular = setInterval(note, SAMPLE_SECONDS * 1000);
  return {
    stop: () => {
      clearTimeout(first);
      clearInterval(regular);
      const after = look();
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

function look(): { readonly held: number; readonly live: number } {
  if (globalThis.gc === undefined) throw new Error('memory can only be looked at under node --expose-gc');
  globalThis.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { held: rss / MIB, live: (heapUsed + external) / MIB };
}
