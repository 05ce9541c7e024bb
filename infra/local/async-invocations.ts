import type { HostClock } from '#local/clock';
import type { FunctionDeclaration } from '#contracts/function-declaration';

type Invoke = (name: string, payloadJson: string) => Promise<string>;

/** Lambda tries an asynchronous invocation twice more. */
const MORE_TRIES = 2;
const RETRY_SECONDS = 60;
const DEAD_LETTERS_KEPT = 100;

export interface FailedInvocation {
  readonly name: string;
  readonly payloadJson: string;
  readonly error: unknown;
}

interface Invocation {
  readonly payloadJson: string;
  readonly triesLeft: number;
}

/**
 * Asynchronous invocations as Lambda has them: queued while the reserved concurrency is taken, tried again a minute after
 * a failure, then set aside. A function of concurrency one that ignores what it is told runs once for all that wait.
 */
export class AsyncInvocations {
  readonly #invoke: Invoke;
  readonly #clock: HostClock;
  readonly #onSetAside: (failed: FailedInvocation) => void;
  readonly #waiting = new Map<string, Invocation[]>();
  readonly #running = new Map<string, number>();
  readonly #retries = new Set<() => void>();
  /** The newest that were set aside, oldest first. */
  readonly deadLetters: FailedInvocation[] = [];
  #closed = false;

  constructor(invoke: Invoke, clock: HostClock, onSetAside: (failed: FailedInvocation) => void = () => undefined) {
    this.#invoke = invoke;
    this.#clock = clock;
    this.#onSetAside = onSetAside;
  }

  enqueue(declaration: FunctionDeclaration, payloadJson: string): void {
    this.#enqueue(declaration, { payloadJson, triesLeft: MORE_TRIES });
  }

  /** Nothing more is started, also no retry; what runs goes on. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
    for (const cancel of this.#retries) cancel();
    this.#retries.clear();
  }

  get running(): number {
    return [...this.#running.values()].reduce((sum, count) => sum + count, 0);
  }

  #enqueue(declaration: FunctionDeclaration, invocation: Invocation): void {
    if (this.#closed) return;
    const queue = this.#waiting.get(declaration.name) ?? [];
    this.#waiting.set(declaration.name, queue);
    const isOneOfMany = declaration.reservedConcurrency === 1;
    const isQueued = isOneOfMany && queue.some(({ payloadJson }) => payloadJson === invocation.payloadJson);
    if (!isQueued) queue.push(invocation);
    this.#pump(declaration);
  }

  #pump(declaration: FunctionDeclaration): void {
    const { name } = declaration;
    const most = declaration.reservedConcurrency ?? Number.POSITIVE_INFINITY;
    const queue = this.#waiting.get(name) ?? [];
    while ((this.#running.get(name) ?? 0) < most) {
      const invocation = queue.shift();
      if (invocation === undefined) return;
      this.#running.set(name, (this.#running.get(name) ?? 0) + 1);
      void this.#run(declaration, invocation).finally(() => {
        this.#running.set(name, (this.#running.get(name) ?? 1) - 1);
        this.#pump(declaration);
      });
    }
  }

  async #run(declaration: FunctionDeclaration, { payloadJson, triesLeft }: Invocation): Promise<void> {
    const { name } = declaration;
    try {
      await this.#clock.track(this.#invoke(name, payloadJson));
    } catch (error) {
      // A throttled invocation has not been tried.
      const isThrottled = error instanceof Error && error.name === 'Lambda.TooManyRequestsException';
      if (triesLeft === 0 && !isThrottled) this.#setAside({ name, payloadJson, error });
      else this.#retryLater(declaration, { payloadJson, triesLeft: isThrottled ? triesLeft : triesLeft - 1 });
    }
  }

  #retryLater(declaration: FunctionDeclaration, invocation: Invocation): void {
    if (this.#closed) return;
    const cancel = this.#clock.setTimer(RETRY_SECONDS * 1000, () => {
      this.#retries.delete(cancel);
      this.#enqueue(declaration, invocation);
    });
    this.#retries.add(cancel);
  }

  #setAside(failed: FailedInvocation): void {
    this.deadLetters.push(failed);
    if (this.deadLetters.length > DEAD_LETTERS_KEPT) this.deadLetters.shift();
    this.#onSetAside(failed);
  }
}
