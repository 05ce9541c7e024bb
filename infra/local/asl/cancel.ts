import { CancelledError } from './errors.ts';

/** Stops everything that waits below one point: an execution, an iteration, a branch. */
export class CancelScope {
  readonly #handlers = new Set<() => void>();
  readonly #detach: () => void;
  #isCancelled = false;

  constructor(parent?: CancelScope) {
    this.#detach = parent?.onCancel(() => this.cancel()) ?? (() => undefined);
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Calls `handler` when the scope is cancelled; at once if it was. Returns its removal. */
  onCancel(handler: () => void): () => void {
    if (this.#isCancelled) handler();
    else this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const handlers = [...this.#handlers];
    this.#handlers.clear();
    this.#detach();
    for (const handler of handlers) handler();
  }

  /** Forgets the parent; to be called when what the scope stands for has ended. */
  close(): void {
    this.#detach();
  }

  throwIfCancelled(): void {
    if (this.#isCancelled) throw new CancelledError();
  }
}

/**
 * A wait that ends with `CancelledError` when the scope is cancelled.
 * @param start begins the wait and returns what undoes it; what it began may still call back later without harm.
 */
export function waitUnlessCancelled<T>(
  cancel: CancelScope,
  start: (resolve: (value: T) => void, reject: (error: Error) => void) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let undo: () => void = () => undefined;
    const detach = cancel.onCancel(() => {
      undo();
      reject(new CancelledError());
    });
    if (cancel.isCancelled) return;
    undo = start(
      (value) => {
        detach();
        resolve(value);
      },
      (error) => {
        detach();
        reject(error);
      },
    );
  });
}
