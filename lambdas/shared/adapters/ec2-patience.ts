import type { Clock } from '#ports/clock';

/** How long one call looks on while a machine changes; what has not happened then is for the next call. */
const PATIENCE_SECONDS = 90;
const FIRST_MILLISECONDS = 500;
const MOST_MILLISECONDS = 5000;

/** Waits between looks, each twice as long as the one before, up to five seconds. */
export class Patience {
  readonly #clock: Clock;
  readonly #deadline: number;
  #next = FIRST_MILLISECONDS;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#deadline = clock.now().getTime() + PATIENCE_SECONDS * 1000;
  }

  /** False at once when there is no more of it. */
  async wait(): Promise<boolean> {
    if (this.#clock.now().getTime() >= this.#deadline) return false;
    await this.#clock.sleep(this.#next);
    this.#next = Math.min(this.#next * 2, MOST_MILLISECONDS);
    return true;
  }
}
