import type { Catcher, Retrier } from './definition.ts';
import { ALL, type AslError, DATA_LIMIT_EXCEEDED, RUNTIME, TASK_FAILED, TIMEOUT } from './errors.ts';

/**
 * Whether an `ErrorEquals` list covers an error, by AWS's rules: `States.ALL` and `States.TaskFailed` leave out
 * `States.DataLimitExceeded` and `States.Runtime`; `States.TaskFailed` also leaves out `States.Timeout`;
 * `States.Runtime` is never handled, not even by name.
 */
export function matchesError(errorEquals: readonly string[], error: AslError): boolean {
  if (error.name === RUNTIME) return false;
  const isTerminal = error.name === DATA_LIMIT_EXCEEDED;
  return errorEquals.some((name) => {
    if (name === error.name || error.aliases.includes(name)) return true;
    if (isTerminal) return false;
    return name === ALL || (name === TASK_FAILED && error.name !== TIMEOUT);
  });
}

/** Retries already spent by each retrier of one visit to a state. */
export class RetryCounter {
  readonly #spent = new Map<Retrier, number>();
  #total = 0;

  /** All retries of this visit: `$states.context.State.RetryCount`. */
  get total(): number {
    return this.#total;
  }

  /** How long to wait before the next attempt, or undefined when the first matching retrier is spent or there is none. */
  next(retriers: readonly Retrier[], error: AslError, random: () => number): number | undefined {
    const retrier = retriers.find(({ errorEquals }) => matchesError(errorEquals, error));
    if (retrier === undefined) return undefined;
    const spent = this.#spent.get(retrier) ?? 0;
    if (spent >= retrier.maxAttempts) return undefined;
    this.#spent.set(retrier, spent + 1);
    this.#total += 1;
    return retryDelayMilliseconds(retrier, spent, random);
  }
}

/** Delay before retry number `index` (from 0): interval times rate to the index, capped, and jittered if FULL. */
export function retryDelayMilliseconds(retrier: Retrier, index: number, random: () => number): number {
  const grown = retrier.intervalSeconds * retrier.backoffRate ** index;
  const capped = Math.min(grown, retrier.maxDelaySeconds ?? Infinity);
  return capped * 1000 * (retrier.jitterStrategy === 'FULL' ? random() : 1);
}

export function findCatcher(catchers: readonly Catcher[], error: AslError): Catcher | undefined {
  return catchers.find(({ errorEquals }) => matchesError(errorEquals, error));
}
