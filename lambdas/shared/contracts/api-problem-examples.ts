import type { ApiCode } from '#core/api-status';

/** What a problem of each code that a document shows says. */
export const PROBLEM_EXAMPLES: Readonly<
  Partial<
    Record<
      ApiCode,
      { readonly detail: string; readonly problems: readonly { readonly path: string; readonly message: string }[] }
    >
  >
> = {
  InvalidRequestError: {
    detail: 'the query does not fit: query.limit: Too big: expected number to be <=200',
    problems: [{ path: 'query.limit', message: 'Too big: expected number to be <=200' }],
  },
  UnauthenticatedError: {
    detail: 'send the token that examhall serve printed, as Authorization: Bearer <token>',
    problems: [],
  },
  AccessDeniedError: {
    detail: 'the caller has no role for it; roles come from the deployment’s settings',
    problems: [],
  },
  NotFoundError: { detail: 'there is no sweep sw-none; GET /sweeps lists those there are', problems: [] },
  StateConflictError: { detail: 'sweep sw-1 is closed; only an open one can be told to pause', problems: [] },
  BodyTooLargeError: { detail: 'the body has 5000000 bytes; 4194304 are allowed: split the request', problems: [] },
  UnsupportedMediaTypeError: {
    detail: 'the content type is "text/plain"; send application/json (UTF-8)',
    problems: [],
  },
  RequestRefusedError: {
    detail: 'body.costCenter: marketing is no cost center of this deployment; allowed: research',
    problems: [
      { path: 'body.costCenter', message: 'marketing is no cost center of this deployment; allowed: research' },
    ],
  },
  TooManyRequestsError: { detail: 'more requests a second than this stage takes; wait and try again', problems: [] },
  InternalError: { detail: 'Something went wrong on our side; the request id finds it in the logs', problems: [] },
  StoreUnavailableError: {
    detail: 'A service we rely on does not answer; the request id finds it in the logs',
    problems: [],
  },
};
