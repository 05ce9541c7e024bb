import type { HostClock } from '#local/clock';
import type { FunctionDeclaration } from '#contracts/functions';

type Invoke = (name: string, payloadJson: string) => Promise<string>;

/** Lambda tries an asynchronous invocation twice more. */
const MORE_TRIES = 2;
const RETRY_SECONDS = 60;

export interface FailedInvocation {
  readonly name: string;
  readonly payloadJson: string;
  readonly error: unknown;
}

/**
 * Asynchronous invocations as Lambda has them: queued while the reserved concurrency is taken, tried again after a
 * failure, then set aside. A function of concurrency one that ignores what it is told runs once for all that wait.
 */
export class AsyncInvocations {
  readonly #invoke: Invoke;
  readonly #clock: HostClock;
  readonly #waiting = new Map<string, string[]>();
  readonly #running = new Map<string, number>();
  readonly deadLetters: FailedInvocation[] = [];
  #closed = false;

  constructor(invoke: Invoke, clock: HostClock) {
    this.#invoke = invoke;
    this.#clock = clock;
  }

  enqueue(declaration: FunctionDeclaration, payloadJson: string): void {
    if (this.#closed) return;
    const queue = this.#waiting.get(declaration.name) ?? [];
    this.#waiting.set(declaration.name, queue);
    if (!(declaration.reservedConcurrency === 1 && queue.includes(payloadJson))) queue.push(payloadJson);
    this.#pump(declaration);
  }

  /** Nothing more is started; what runs goes on. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  get running(): number {
    return [...this.#running.values()].reduce((sum, count) => sum + count, 0);
  }

  #pump(declaration: FunctionDeclaration): void {
    const { name } = declaration;
    const most = declaration.reservedConcurrency ?? Number.POSITIVE_INFINITY;
    const queue = this.#waiting.get(name);
    while (queue !== undefined && queue.length > 0 && (this.#running.get(name) ?? 0) < most) {
      const payloadJson = queue.shift() ?? '{}';
      this.#running.set(name, (this.#running.get(name) ?? 0) + 1);
      void this.#run(name, payloadJson, MORE_TRIES).finally(() => {
        this.#running.set(name, (this.#running.get(name) ?? 1) - 1);
        this.#pump(declaration);
      });
    }
  }

  async #run(name: string, payloadJson: string, triesLeft: number): Promise<void> {
    try {
      await this.#clock.track(this.#invoke(name, payloadJson));
    } catch (error) {
      if (this.#closed) return;
      if (triesLeft === 0) {
        this.deadLetters.push({ name, payloadJson, error });
        return;
      }
      await new Promise<void>((resolve) => {
        this.#clock.setTimer(RETRY_SECONDS * 1000, resolve);
      });
      await this.#run(name, payloadJson, triesLeft - 1);
    }
  }
}
