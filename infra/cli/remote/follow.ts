import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

type StopSignal = 'SIGINT' | 'SIGTERM';
const SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];

/**
 * Runs something that only looks on. SIGINT and SIGTERM end the looking and nothing else: `onStop` says so, and the answer
 * is the exit code of shells for that signal.
 */
export async function untilInterrupted(
  work: (delay: (seconds: number) => Promise<void>) => Promise<number>,
  onStop: () => void,
): Promise<number> {
  const stop = new AbortController();
  const delay = async (seconds: number): Promise<void> => {
    await sleep(seconds * 1000, undefined, { signal: stop.signal });
  };
  let onSignal = (_signal: StopSignal): void => undefined;
  const interrupted = new Promise<number>((resolve) => {
    onSignal = (signal) => {
      stop.abort();
      onStop();
      resolve(128 + os.constants.signals[signal]);
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
  try {
    return await Promise.race([
      work(delay).catch(async (error: unknown) => {
        if (stop.signal.aborted) return await interrupted;
        throw error;
      }),
      interrupted,
    ]);
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}
