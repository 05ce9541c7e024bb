import { ExamHallError } from '#core/errors';
import type { RowKey, RowPage, RowQuery, RowWrite, Row, UnitStore } from '#ports/unit-store';
import type { DeliveryFault } from '#local/event-bus';

/** How often, in percent, each kind of thing goes wrong. */
export interface FaultRates {
  /** An event is not delivered, is delivered twice, or up to five minutes late. */
  readonly eventLost: number;
  readonly eventTwice: number;
  readonly eventLate: number;
  /** A write of the unit store meets another writer; a call of it fails before, or a write after, its effect. */
  readonly storeConflict: number;
  readonly storeDown: number;
  /** A machine is not to be had, is lost with the provider's reason while it is asked about, or will not go at once. */
  readonly noCapacity: number;
  readonly machineLost: number;
  readonly machineStays: number;
  /** A guest does not answer, before or after it did what it was told. */
  readonly guestSilent: number;
  /** A function fails before or after its effect, in a way that is retried or in one that is not. */
  readonly functionFails: number;
  readonly functionDies: number;
  readonly graderUnavailable: number;
}

export type FaultKind = keyof FaultRates;

/** Draws faults from a seed; the same seed and rates give the same faults. `isOn` ends them all. */
export class FaultSource {
  isOn = true;
  readonly drawn: Partial<Record<FaultKind, number>> = {};
  readonly #rates: FaultRates;
  #state: number;

  constructor(seed: number, rates: FaultRates) {
    this.#rates = rates;
    this.#state = seed >>> 0;
  }

  /** In [0, 1). Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  strikes(kind: FaultKind): boolean {
    if (!this.isOn || this.next() * 100 >= this.#rates[kind]) return false;
    this.drawn[kind] = (this.drawn[kind] ?? 0) + 1;
    return true;
  }

  ofEvent(): DeliveryFault | undefined {
    if (this.strikes('eventLost')) return { copies: 0 };
    if (this.strikes('eventTwice')) return { copies: 2 };
    return this.strikes('eventLate') ? { delayMilliseconds: Math.floor(this.next() * 300_000) } : undefined;
  }

  /** A function's call that may fail before or after its effect. */
  async ofFunction(call: () => Promise<string>): Promise<string> {
    const failure = this.strikes('functionFails')
      ? Object.assign(new Error('the service failed'), { name: 'Lambda.Unknown' })
      : this.strikes('functionDies')
        ? Object.assign(new Error('signal: killed'), { name: 'Runtime.ExitError' })
        : undefined;
    if (failure === undefined) return await call();
    if (this.next() < 0.5) throw failure;
    await call();
    throw failure;
  }
}

/** A unit store whose calls meet faults. */
export class FaultyStore implements UnitStore {
  readonly #store: UnitStore;
  readonly #faults: FaultSource;

  constructor(store: UnitStore, faults: FaultSource) {
    this.#store = store;
    this.#faults = faults;
  }

  async get(key: RowKey): Promise<Row | undefined> {
    this.#mayBeDown();
    return await this.#store.get(key);
  }

  async query(query: RowQuery): Promise<RowPage> {
    this.#mayBeDown();
    return await this.#store.query(query);
  }

  async write(writes: readonly RowWrite[]): Promise<void> {
    this.#mayBeDown();
    if (this.#faults.strikes('storeConflict'))
      throw new ExamHallError('ConditionFailedError', 'another writer came first');
    await this.#store.write(writes);
    this.#mayBeDown();
  }

  #mayBeDown(): void {
    if (this.#faults.strikes('storeDown')) throw new ExamHallError('StoreUnavailableError', 'the store did not answer');
  }
}
