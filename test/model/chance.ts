/** How often, in percent, each kind of thing goes wrong. */
export const FAULT_KINDS = [
  /** An event is not delivered, is delivered twice, or up to five minutes late. */
  'eventLost',
  'eventTwice',
  'eventLate',
  /** A write of the unit store meets another writer; a call fails before, or a write after, its effect. */
  'storeConflict',
  'storeDown',
  /** A function fails before or after its effect, in a way that is retried often or once. */
  'functionFails',
  'functionDies',
  /** A pool has no machine for a while; a request is throttled; a launch happens and its answer is lost. */
  'noCapacity',
  'throttled',
  'answerLost',
  /** A machine is not seen for a while after its launch, never boots, takes its time to end, or leaves its volume. */
  'seenLate',
  'neverOnline',
  'endsSlowly',
  'keepsVolume',
  /** A machine is lost at some moment of its life, with the provider's reason or without one. */
  'lostEvident',
  'lostSilent',
  /** A guest does not answer a call, before or after it did what it was told. */
  'guestSilent',
  /** A reply never comes, comes late, or is not as agreed; a guest's runner does not know a verb from its boot on. */
  'replyNever',
  'replySlow',
  'replyMalformed',
  'runnerBroken',
  /** The store refuses what a collect uploads. */
  'uploadFails',
  'graderUnavailable',
  /** What we know of a machine is wiped out: something of ours runs that no row speaks of. */
  'orphan',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];
export type FaultRates = Readonly<Record<FaultKind, number>>;

export const NO_FAULTS: FaultRates = Object.freeze(
  Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0])) as Record<FaultKind, number>,
);

/**
 * Draws from a seed by what is asked, not by the order of asking: the third launch of one attempt meets the same fault
 * whatever else happened before it.
 */
export class Chance {
  isOn = true;
  readonly #seed: number;
  readonly #rates: FaultRates;
  readonly #asked = new Map<string, number>();

  constructor(seed: number, rates: FaultRates) {
    this.#seed = seed >>> 0;
    this.#rates = rates;
  }

  /** In [0, 1); the next one for this subject. */
  next(subject: string): number {
    const count = (this.#asked.get(subject) ?? 0) + 1;
    this.#asked.set(subject, count);
    return this.at(`${subject} ${String(count)}`);
  }

  /** In [0, 1); always the same for this subject. FNV-1a, then the finish of Mulberry32. */
  at(subject: string): number {
    let hash = this.#seed ^ 0x811c9dc5;
    for (let index = 0; index < subject.length; index += 1) {
      hash = Math.imul(hash ^ subject.charCodeAt(index), 0x01000193);
    }
    let mixed = (hash + 0x6d2b79f5) >>> 0;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  strikes(kind: FaultKind, subject: string): boolean {
    return this.isOn && this.#rates[kind] > 0 && this.next(`${kind} ${subject}`) * 100 < this.#rates[kind];
  }

  /** Whether it strikes this subject at all, once and for all. */
  marks(kind: FaultKind, subject: string): boolean {
    return this.isOn && this.at(`${kind} ${subject}`) * 100 < this.#rates[kind];
  }

  pick<T>(subject: string, choices: readonly (readonly [T, number])[], fallback: T): T {
    const total = choices.reduce((sum, [, weight]) => sum + weight, 0);
    let left = this.at(subject) * total;
    for (const [choice, weight] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return fallback;
  }
}
