/** Lets one piece of work run at a time, in the order in which it was asked for. */
export interface Turns {
  /** @throws the signal's reason when the call was given up before its turn came; what `work` throws. */
  take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take: (work, signal) => {
      const mine = last.then(() => {
        signal.throwIfAborted();
        return work();
      });
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}
