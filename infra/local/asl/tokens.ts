import { ServiceError } from './errors.ts';
import { isTooLarge, MAX_PAYLOAD_BYTES } from './limits.ts';
import { Payload } from './payload.ts';

/** What a waiting task does when its token is used. */
export interface TokenWaiter {
  succeed(output: Payload): void;
  fail(error: string, cause: string): void;
  heartbeat(): void;
}

/**
 * Tokens of waiting tasks. A token names the interpreter that issued it and carries a checksum, so that one which is
 * closed (`TaskTimedOut`), one of an earlier process (`TaskDoesNotExist`) and a made-up one (`InvalidToken`) are told
 * apart without remembering those that are done.
 */
export class TokenRegistry {
  readonly #waiting = new Map<string, TokenWaiter>();
  readonly #instance: string;
  readonly #newToken: () => string;

  constructor(instance: string, newToken: () => string) {
    this.#instance = instance.replaceAll('.', '-');
    this.#newToken = newToken;
  }

  /** Tokens that a task waits on now. */
  get waiting(): number {
    return this.#waiting.size;
  }

  issue(): string {
    const body = `${this.#newToken()}.${this.#instance}`;
    return `${body}.${checksum(body)}`;
  }

  /** Registers the waiter of a token; returns how to take it back. */
  open(token: string, waiter: TokenWaiter): () => void {
    this.#waiting.set(token, waiter);
    return () => this.#waiting.delete(token);
  }

  /** @throws ServiceError InvalidOutput, InvalidToken, TaskTimedOut or TaskDoesNotExist. */
  succeed(token: string, outputJson: string): void {
    const waiter = this.#find(token);
    const output = parseOutput(outputJson);
    this.#waiting.delete(token);
    waiter.succeed(output);
  }

  /** @throws ServiceError InvalidToken, TaskTimedOut or TaskDoesNotExist. */
  fail(token: string, error: string, cause: string): void {
    const waiter = this.#find(token);
    this.#waiting.delete(token);
    waiter.fail(error, cause);
  }

  /** @throws ServiceError InvalidToken, TaskTimedOut or TaskDoesNotExist. */
  heartbeat(token: string): void {
    this.#find(token).heartbeat();
  }

  #find(token: string): TokenWaiter {
    const waiter = this.#waiting.get(token);
    if (waiter !== undefined) return waiter;
    const cut = token.lastIndexOf('.');
    const body = token.slice(0, Math.max(cut, 0));
    if (cut < 0 || token.slice(cut + 1) !== checksum(body)) {
      throw new ServiceError('InvalidToken', 'The token is not one that a task was given.');
    }
    if (!body.endsWith(`.${this.#instance}`)) {
      throw new ServiceError('TaskDoesNotExist', 'The task of the token belonged to a host that has ended.');
    }
    throw new ServiceError('TaskTimedOut', 'The task of the token is closed: it ended, timed out or was stopped.');
  }
}

function parseOutput(outputJson: string): Payload {
  if (isTooLarge(outputJson)) {
    throw new ServiceError('InvalidOutput', `The output has more than ${MAX_PAYLOAD_BYTES} bytes.`);
  }
  try {
    JSON.parse(outputJson);
  } catch (error) {
    throw new ServiceError('InvalidOutput', `The output is not JSON: ${String(error)}`);
  }
  return new Payload(outputJson);
}

/** FNV-1a in eight hexadecimal digits: guards against mix-ups, not against malice. */
function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, '0');
}
