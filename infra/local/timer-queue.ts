/** One pending call; `at` in milliseconds since the epoch. */
export interface TimerEntry {
  readonly at: number;
  readonly background: boolean;
  readonly fn: () => void;
  /** Creation order, so that equal times fire in the order they were set. */
  readonly order: number;
  cancelled: boolean;
}

const COMPACT_ABOVE = 64;

/** Min-heap of timers. Cancelling is O(1); cancelled entries are swept once they outnumber the live ones. */
export class TimerQueue {
  #heap: TimerEntry[] = [];
  #order = 0;
  #cancelled = 0;
  #foreground = 0;

  /** Timers that are pending, background ones included. */
  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  /** Pending timers that something waits for. */
  get foreground(): number {
    return this.#foreground;
  }

  add(at: number, fn: () => void, background: boolean): TimerEntry {
    const entry: TimerEntry = { at, background, fn, order: this.#order++, cancelled: false };
    this.#heap.push(entry);
    this.#up(this.#heap.length - 1);
    if (!background) this.#foreground += 1;
    return entry;
  }

  cancel(entry: TimerEntry): void {
    if (entry.cancelled) return;
    entry.cancelled = true;
    this.#cancelled += 1;
    if (!entry.background) this.#foreground -= 1;
    if (this.#cancelled > COMPACT_ABOVE && this.#cancelled * 2 > this.#heap.length) this.#compact();
  }

  /** The earliest pending timer, left in place. */
  peek(): TimerEntry | undefined {
    for (;;) {
      const first = this.#heap[0];
      if (first?.cancelled !== true) return first;
      this.#removeFirst();
      this.#cancelled -= 1;
    }
  }

  /** The earliest pending timer, taken out; it counts as cancelled afterwards, so a late cancel does nothing. */
  pop(): TimerEntry | undefined {
    const first = this.peek();
    if (first === undefined) return undefined;
    this.#removeFirst();
    first.cancelled = true;
    if (!first.background) this.#foreground -= 1;
    return first;
  }

  #compact(): void {
    this.#heap = this.#heap.filter((entry) => !entry.cancelled).sort((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#cancelled = 0;
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #up(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  #down(start: number): void {
    let index = start;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const smaller = this.#isBeforeAt(right, left) ? right : left;
      if (!this.#swapIfBefore(smaller, index)) return;
      index = smaller;
    }
  }

  #isBeforeAt(index: number, than: number): boolean {
    const a = this.#heap[index];
    const b = this.#heap[than];
    return a !== undefined && b !== undefined && isBefore(a, b);
  }

  #swapIfBefore(index: number, other: number): boolean {
    const a = this.#heap[index];
    const b = this.#heap[other];
    if (a === undefined || b === undefined || !isBefore(a, b)) return false;
    this.#heap[index] = b;
    this.#heap[other] = a;
    return true;
  }
}

function isBefore(a: TimerEntry, b: TimerEntry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
