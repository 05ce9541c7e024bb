import type { HostClock } from '#local/clock';

import { assertPattern, type EventPattern, matchesPattern } from './event-pattern.ts';

/** An event as a target gets it: a fresh copy, `id` the same for every copy and retry. */
export interface BusEvent {
  readonly id: string;
  readonly time: string;
  readonly source: string;
  readonly detailType: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface EventRule {
  readonly name: string;
  readonly pattern: EventPattern;
  /** Rejecting (or throwing) makes the bus try again. May be called more than once for one event. */
  readonly target: (event: BusEvent) => Promise<void> | void;
}

/** What happens to the deliveries of one event to one rule: `copies` of them (0 loses it), `delayMilliseconds` late. */
export interface DeliveryFault {
  readonly copies?: number;
  readonly delayMilliseconds?: number;
}

export interface DeadLetter {
  readonly rule: string;
  readonly event: BusEvent;
  readonly attempts: number;
  readonly error: string;
}

export interface EventBusOptions {
  readonly clock: HostClock;
  /** Deliveries tried before an event is a dead letter. */
  readonly maxAttempts?: number;
  /** An event older than this is a dead letter even with attempts left. */
  readonly maxAgeSeconds?: number;
  /** For tests: at-least-once delivery at its worst. */
  readonly fault?: (rule: string, event: BusEvent) => DeliveryFault | undefined;
}

/** EventBridge's own bounds: 185 attempts within 24 hours. */
const MAX_ATTEMPTS = 185;
const MAX_AGE_SECONDS = 24 * 3600;
const FIRST_DELAY_SECONDS = 1;
const LONGEST_DELAY_SECONDS = 15 * 60;

/** One event on its way to one rule. */
interface Delivery {
  readonly rule: EventRule;
  /** The event as JSON, so that no target shares an object with the publisher or another target. */
  readonly text: string;
  readonly publishedMilliseconds: number;
  readonly attempt: number;
}

/** An event bus in this process: asynchronous on the clock, at least once, with retries and dead letters. */
export class EventBus {
  readonly deadLetters: DeadLetter[] = [];
  readonly #options: Required<Omit<EventBusOptions, 'fault'>> & Pick<EventBusOptions, 'fault'>;
  readonly #rules = new Map<string, EventRule>();
  readonly #pending = new Set<() => void>();
  #published = 0;
  #isClosed = false;

  constructor(options: EventBusOptions) {
    this.#options = { maxAttempts: MAX_ATTEMPTS, maxAgeSeconds: MAX_AGE_SECONDS, ...options };
  }

  /** Deliveries that wait for their time; those under way are not among them. */
  get pendingDeliveries(): number {
    return this.#pending.size;
  }

  /** @throws Error when the name is taken, or the pattern has something that is not matched here. */
  addRule(rule: EventRule): void {
    if (this.#rules.has(rule.name)) throw new Error(`the bus has a rule '${rule.name}' already; take another name`);
    assertPattern(rule.pattern);
    this.#rules.set(rule.name, rule);
  }

  removeRule(name: string): void {
    this.#rules.delete(name);
  }

  publish({ source, detailType, detail }: Pick<BusEvent, 'source' | 'detailType' | 'detail'>): void {
    if (this.#isClosed) return;
    this.#published += 1;
    const now = this.#options.clock.now();
    const text = JSON.stringify({
      id: `event-${this.#published}`,
      time: now.toISOString(),
      source,
      detailType,
      detail,
    });
    const event = parse(text);
    for (const rule of this.#rules.values()) {
      if (!matchesPattern(rule.pattern, event)) continue;
      const { copies = 1, delayMilliseconds = 0 } = this.#options.fault?.(rule.name, event) ?? {};
      for (let copy = 0; copy < copies; copy += 1) {
        this.#schedule({ rule, text, publishedMilliseconds: now.getTime(), attempt: 1 }, delayMilliseconds);
      }
    }
  }

  /** Drops what waits to be delivered and takes nothing more. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#pending) cancel();
    this.#pending.clear();
  }

  #schedule(delivery: Delivery, delayMilliseconds: number): void {
    const cancel = this.#options.clock.setTimer(delayMilliseconds, () => {
      this.#pending.delete(cancel);
      void this.#deliver(delivery);
    });
    this.#pending.add(cancel);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { rule, text } = delivery;
    const { clock } = this.#options;
    try {
      const work = (async () => rule.target(parse(text)))();
      await clock.track(work);
    } catch (error) {
      if (!this.#isClosed) this.#retry(delivery, error);
    }
  }

  #retry(delivery: Delivery, error: unknown): void {
    const { clock, maxAttempts, maxAgeSeconds } = this.#options;
    const { attempt, rule, text, publishedMilliseconds } = delivery;
    const delaySeconds = Math.min(FIRST_DELAY_SECONDS * 2 ** (attempt - 1), LONGEST_DELAY_SECONDS);
    const nextAge = (clock.now().getTime() - publishedMilliseconds) / 1000 + delaySeconds;
    if (attempt >= maxAttempts || nextAge > maxAgeSeconds) {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      this.deadLetters.push({ rule: rule.name, event: parse(text), attempts: attempt, error: message });
      return;
    }
    this.#schedule({ ...delivery, attempt: attempt + 1 }, delaySeconds * 1000);
  }
}

function parse(text: string): BusEvent {
  return JSON.parse(text) as BusEvent;
}
