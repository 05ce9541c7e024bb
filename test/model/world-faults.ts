import { ExamHallError } from '#core/errors';
import type { Row, RowKey, RowPage, RowQuery, RowWrite, UnitStore } from '#ports/unit-store';
import type { Chance } from './chance.ts';
import { BACKGROUND, type Truth } from './truth.ts';

/** Most failures in a row of a function that looks after all attempts; more would be a whole service that is down. */
const MOST_IN_A_ROW = 2;

/** Calls of functions that fail before or after their effect. */
export class FunctionFaults {
  readonly #chance: Chance;
  readonly #truth: Truth;
  readonly #inARow = new Map<string, number>();

  constructor(chance: Chance, truth: Truth) {
    this.#chance = chance;
    this.#truth = truth;
  }

  async call(name: string, subject: string, call: () => Promise<string>): Promise<string> {
    const failure = this.#draw(name, `${name} ${subject}`);
    if (failure === null) return await call();
    if (this.#chance.next(`half ${name} ${subject}`) < 0.5) await call();
    throw failure;
  }

  #draw(name: string, subject: string): Error | null {
    const isBackground = BACKGROUND.has(name);
    const inARow = this.#inARow.get(name) ?? 0;
    if (isBackground && inARow >= MOST_IN_A_ROW) {
      this.#inARow.set(name, 0);
      return null;
    }
    const kind = this.#chance.strikes('functionFails', subject)
      ? 'functionFails'
      : this.#chance.strikes('functionDies', subject)
        ? 'functionDies'
        : null;
    this.#inARow.set(name, kind === null ? 0 : inARow + 1);
    if (kind === null) return null;
    this.#truth.strike(kind);
    return Object.assign(new Error(kind), { name: kind === 'functionFails' ? 'Lambda.Unknown' : 'Runtime.ExitError' });
  }
}

/** A unit store whose calls meet faults. */
export class FaultyStore implements UnitStore {
  readonly #store: UnitStore;
  readonly #chance: Chance;
  readonly #truth: Truth;

  constructor(store: UnitStore, chance: Chance, truth: Truth) {
    this.#store = store;
    this.#chance = chance;
    this.#truth = truth;
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
    if (!this.#isSpared && this.#chance.strikes('storeConflict', this.#subject)) {
      this.#truth.strike('functionFails');
      throw new ExamHallError('ConditionFailedError', 'another writer came first');
    }
    await this.#store.write(writes);
    this.#mayBeDown();
  }

  #mayBeDown(): void {
    if (this.#isSpared || !this.#chance.strikes('storeDown', this.#subject)) return;
    this.#truth.strike('functionFails');
    throw new ExamHallError('StoreUnavailableError', 'the store did not answer');
  }

  get #isSpared(): boolean {
    return this.#truth.running.getStore()?.isSpared ?? true;
  }

  get #subject(): string {
    const running = this.#truth.running.getStore();
    return `${running?.name ?? 'host'} ${running?.attemptId ?? ''}`;
  }
}
