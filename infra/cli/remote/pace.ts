/** How many units were closed at a time. */
interface Sighting {
  readonly atSeconds: number;
  readonly closed: number;
}

/** A pace says something once so many units have closed before our eyes, over so long. */
const LEAST_CLOSED = 5;
const LEAST_SECONDS = 60;
/** Older sightings say little of now. */
const WINDOW_SECONDS = 1800;

/** How long a sweep goes on at the pace that was seen, or null where that would be a guess. */
export class Pace {
  #sightings: readonly Sighting[] = [];

  see(atSeconds: number, closed: number): void {
    const kept = this.#sightings.filter((each) => each.atSeconds >= atSeconds - WINDOW_SECONDS);
    this.#sightings = [...kept, { atSeconds, closed }];
  }

  /** Forgets what was seen: a sweep that was paused has another pace. */
  forget(): void {
    this.#sightings = [];
  }

  secondsLeft(planned: number): number | null {
    const [first] = this.#sightings;
    const last = this.#sightings.at(-1);
    if (first === undefined || last === undefined) return null;
    const closed = last.closed - first.closed;
    const seconds = last.atSeconds - first.atSeconds;
    if (closed < LEAST_CLOSED || seconds < LEAST_SECONDS) return null;
    return Math.max(0, planned - last.closed) * (seconds / closed);
  }
}

/** `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`: as exact as an estimate is. */
export function durationText(seconds: number): string {
  if (seconds < 90) return `${String(Math.ceil(seconds))} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 90) return `${String(minutes)} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${String(hours)} h ${String(minutes % 60)} min`;
  return `${String(Math.floor(hours / 24))} d ${String(hours % 24)} h`;
}
