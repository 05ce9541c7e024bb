import type { Clock } from '#ports/clock';

import { TimerQueue } from './timer-queue.ts';

export interface TimerOptions {
  /** A background timer fires when time passes it, but never makes a virtual clock run towards it. */
  readonly background?: boolean;
}

/** What the embedded host needs of time beyond the port: timers, and word of work that no timer stands for. */
export interface HostClock extends Clock {
  /** Calls `fn` once, at a date or so many milliseconds from now. Returns its cancel, which may be called twice. */
  setTimer(at: Date | number, fn: () => void, options?: TimerOptions): () => void;
  /**
   * Tells the clock that real work is under way, so that virtual time stands still until it settles or `signal` aborts.
   * Such work may `sleep` on this clock; host machinery that is not tracked must use `setTimer`, not `sleep`.
   */
  track<T>(work: Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Node keeps delays in 31 bits; longer ones are set in steps. */
const LONGEST_NODE_DELAY = 2 ** 31 - 1;

/** The machine's clock. */
export class RealClock implements HostClock {
  now(): Date {
    return new Date();
  }

  setTimer(at: Date | number, fn: () => void, options: TimerOptions = {}): () => void {
    const due = typeof at === 'number' ? Date.now() + at : at.getTime();
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      const left = Math.max(0, due - Date.now());
      handle = left > LONGEST_NODE_DELAY ? setTimeout(arm, LONGEST_NODE_DELAY) : setTimeout(fn, left);
      if (options.background === true) handle.unref();
    };
    arm();
    return () => clearTimeout(handle);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, milliseconds, signal);
  }

  track<T>(work: Promise<T>): Promise<T> {
    return work;
  }
}

/** Turns of the event loop that must pass without news before virtual time may move. */
const QUIET_TURNS = 2;

/**
 * Time that jumps to the next timer as soon as nothing else can run.
 * It stands still while tracked work is doing something other than sleeping on this clock, and while no foreground
 * timer is set. `advance` moves it by hand whatever is pending.
 */
export class VirtualClock implements HostClock {
  readonly #timers = new TimerQueue();
  readonly #isAutomatic: boolean;
  #now: number;
  #busy = 0;
  #sleeping = 0;
  #isScheduled = false;
  #isAdvancing = false;

  constructor(options: { readonly start?: Date; readonly isAutomatic?: boolean } = {}) {
    this.#now = (options.start ?? new Date('2026-01-01T00:00:00.000Z')).getTime();
    this.#isAutomatic = options.isAutomatic ?? true;
  }

  now(): Date {
    return new Date(this.#now);
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  setTimer(at: Date | number, fn: () => void, options: TimerOptions = {}): () => void {
    const due = typeof at === 'number' ? this.#now + at : at.getTime();
    const entry = this.#timers.add(Math.max(due, this.#now), fn, options.background === true);
    this.#wake();
    return () => this.#timers.cancel(entry);
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    this.#sleeping += 1;
    try {
      await sleepOn(this, milliseconds, signal);
    } finally {
      this.#sleeping -= 1;
    }
  }

  /**
   * Waits for virtual time to pass from outside of all tracked work, as a test does. `sleep` will not do there: each
   * sleeper is taken for tracked work that has nothing else to do, and time would move past work that still has.
   */
  elapse(milliseconds: number): Promise<void> {
    return sleepOn(this, milliseconds);
  }

  track<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted === true) return work;
    this.#busy += 1;
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#busy -= 1;
      signal?.removeEventListener('abort', release);
      this.#wake();
    };
    signal?.addEventListener('abort', release);
    work.then(release, release);
    return work;
  }

  /** Fires every timer due within the next `milliseconds`, in order, letting each one's consequences run first. */
  async advance(milliseconds: number): Promise<void> {
    const target = this.#now + milliseconds;
    this.#isAdvancing = true;
    try {
      await settle();
      for (let next = this.#timers.peek(); next !== undefined && next.at <= target; next = this.#timers.peek()) {
        this.#fireNext();
        await settle();
      }
      this.#now = target;
    } finally {
      this.#isAdvancing = false;
    }
    this.#wake();
  }

  #wake(): void {
    if (this.#isScheduled || !this.#isAutomatic || this.#isAdvancing) return;
    this.#isScheduled = true;
    this.#waitForQuiet(QUIET_TURNS);
  }

  #waitForQuiet(turns: number): void {
    setImmediate(() => {
      if (turns > 1) {
        this.#waitForQuiet(turns - 1);
        return;
      }
      this.#isScheduled = false;
      const isIdle = this.#busy <= this.#sleeping;
      if (!isIdle || this.#isAdvancing || this.#timers.foreground === 0) return;
      this.#fireNext();
      this.#wake();
    });
  }

  #fireNext(): void {
    const next = this.#timers.pop();
    if (next === undefined) return;
    this.#now = Math.max(this.#now, next.at);
    next.fn();
  }
}

function sleepOn(clock: HostClock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(reasonOf(signal));
      return;
    }
    const onAbort = (): void => {
      cancel();
      if (signal !== undefined) reject(reasonOf(signal));
    };
    const cancel = clock.setTimer(milliseconds, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(`aborted: ${String(signal.reason)}`);
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < QUIET_TURNS; turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
