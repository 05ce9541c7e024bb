import type { HostClock } from '#local/clock';

/** What a schedule calls; its failures are kept and change nothing about the schedule. */
export type ScheduleTarget = () => Promise<void> | void;

export interface ScheduleFailure {
  readonly name: string;
  readonly at: string;
  readonly error: string;
}

const FAILURES_KEPT = 100;

/**
 * Named schedules on the host's clock. Creating a name that exists changes nothing; a one-time schedule is gone after
 * it fired. Rate schedules are background timers: a virtual clock does not run for their sake.
 */
export class Schedules {
  /** The newest failures of targets, oldest first. */
  readonly failures: ScheduleFailure[] = [];
  readonly #clock: HostClock;
  readonly #cancels = new Map<string, () => void>();

  constructor({ clock }: { readonly clock: HostClock }) {
    this.#clock = clock;
  }

  /**
   * Calls `target` every so many seconds, first after one interval, whether or not the last call has ended.
   * Whole intervals that were missed are not made up for.
   */
  every(name: string, everySeconds: number, target: ScheduleTarget): void {
    if (!(everySeconds > 0)) throw new Error(`schedule '${name}' has a rate of ${everySeconds} s; it must be above 0`);
    if (this.#cancels.has(name)) return;
    const interval = everySeconds * 1000;
    const start = this.#clock.now().getTime();
    const arm = (): void => {
      const passed = Math.floor((this.#clock.now().getTime() - start) / interval);
      const due = new Date(start + (passed + 1) * interval);
      const fire = (): void => {
        arm();
        this.#call(name, target);
      };
      this.#cancels.set(name, this.#clock.setTimer(due, fire, { background: true }));
    };
    arm();
  }

  /** Calls `target` once, at a date, or at once when that has passed. */
  at(name: string, date: Date, target: ScheduleTarget): void {
    if (Number.isNaN(date.getTime())) throw new Error(`schedule '${name}' has no valid date`);
    if (this.#cancels.has(name)) return;
    const fire = (): void => {
      this.#cancels.delete(name);
      this.#call(name, target);
    };
    this.#cancels.set(name, this.#clock.setTimer(date, fire));
  }

  has(name: string): boolean {
    return this.#cancels.has(name);
  }

  names(): readonly string[] {
    return [...this.#cancels.keys()];
  }

  /** Removing a name that does not exist is no error. */
  remove(name: string): void {
    this.#cancels.get(name)?.();
    this.#cancels.delete(name);
  }

  close(): void {
    for (const name of this.names()) this.remove(name);
  }

  #call(name: string, target: ScheduleTarget): void {
    const work = (async () => target())();
    void this.#clock.track(work).catch((error: unknown) => {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      this.failures.push({ name, at: this.#clock.now().toISOString(), error: message });
      if (this.failures.length > FAILURES_KEPT) this.failures.shift();
    });
  }
}
