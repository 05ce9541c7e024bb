interface ApiProblem {
  readonly status: number;
  readonly title: string;
  /** Our side's trouble: callers are told that it is, and no more. */
  readonly isOurs?: true;
}

const malformed = { status: 400, title: 'The request is malformed' };
const refused = { status: 422, title: 'The request cannot be done' };
const conflict = { status: 409, title: 'The request does not fit the present state' };
const unavailable: ApiProblem = { status: 503, title: 'A service we rely on does not answer', isOurs: true };

/** What the API answers for each error by name; every name that is absent is an `InternalError`. */
export const API_PROBLEMS = {
  InvalidRequestError: malformed,
  AccessDeniedError: { status: 403, title: 'The caller may not do this' },
  NotFoundError: { status: 404, title: 'There is no such thing' },
  StateConflictError: conflict,
  IdempotencyConflictError: { status: 409, title: 'The idempotency key was used for another request' },
  BodyTooLargeError: { status: 413, title: 'The body is too large' },
  UnsupportedMediaTypeError: { status: 415, title: 'The body is not JSON by its content type' },
  RequestRefusedError: refused,
  /** A host's own answers, before a function is asked: the gateway on AWS, the server on one computer. */
  UnauthenticatedError: { status: 401, title: 'The caller is not known' },
  MethodNotAllowedError: { status: 405, title: 'The route takes another method' },
  TooManyRequestsError: { status: 429, title: 'Too many requests' },
  UnknownAgentError: refused,
  UnknownTaskError: refused,
  UnknownVariantError: refused,
  DuplicateUnitError: refused,
  SandboxRefusedError: refused,
  TaskCardError: refused,
  TaskLoadError: refused,
  StoreUnavailableError: unavailable,
  ConditionFailedError: unavailable,
  StorageFullError: unavailable,
  StorageReadOnlyError: unavailable,
  InternalError: { status: 500, title: 'Something went wrong on our side', isOurs: true },
} as const satisfies Record<string, ApiProblem>;

export type ApiCode = keyof typeof API_PROBLEMS;

/** Seconds after which a caller may try again what our side could not do. */
export const RETRY_AFTER_SECONDS = 5;

/** The problem an error's name stands for. */
export function apiProblemOf(name: string): ApiProblem & { readonly code: ApiCode } {
  const code = isApiCode(name) ? name : 'InternalError';
  return { code, ...API_PROBLEMS[code] };
}

function isApiCode(name: string): name is ApiCode {
  return Object.hasOwn(API_PROBLEMS, name);
}
