import { EXIT } from '#cli/explain-error';

/** What stood between this computer and an answer. */
export type RemoteErrorKind =
  /** The request is wrong, or what it names is not there. */
  | 'request'
  /** No credentials, wrong ones, or a role that may not. */
  | 'access'
  /** Name not found, connection refused or lost, certificate refused. */
  | 'unreachable'
  | 'timeout'
  | 'throttled'
  /** The host answered with a fault of its own, or with something that is no answer. */
  | 'host';

interface RemoteErrorFacts {
  readonly status?: number;
  /** The host's own name of the error. */
  readonly code?: string;
  /** True when the request cannot have been acted on. */
  readonly isUnsent?: boolean;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A host that gave no usable answer. The message says all there is to say: what happened, and what to do. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError';
  readonly kind: RemoteErrorKind;
  readonly status: number | null;
  readonly code: string | null;
  readonly isUnsent: boolean;
  readonly retryAfterSeconds: number | null;

  constructor(kind: RemoteErrorKind, message: string, facts: RemoteErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.status = facts.status ?? null;
    this.code = facts.code ?? null;
    this.isUnsent = facts.isUnsent ?? false;
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
  }

  /** What a person can put right is bad input; the rest is a fault between here and the host. */
  get exitCode(): number {
    return this.kind === 'request' || this.kind === 'access' ? EXIT.badInput : EXIT.ourFault;
  }
}
