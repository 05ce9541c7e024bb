/**
 * What services of the cloud answer when they would answer otherwise a little later, by name. The one source for the blame
 * table, whose rows lay these to the platform, and for the adapters, which try again.
 */

/** We ask too often. */
export const THROTTLING_NAMES: readonly string[] = [
  'EC2ThrottledException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'SlowDown',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
];

/** The service itself failed. */
export const SERVICE_FAULT_NAMES: readonly string[] = [
  'InternalError',
  'InternalException',
  'InternalFailure',
  'InternalServerError',
  'InternalServerException',
  'ServiceUnavailable',
  'ServiceUnavailableException',
];

/** Two writers met. */
export const CONFLICT_NAMES: readonly string[] = [
  'ConditionalRequestConflict',
  'OperationAborted',
  'ReplicatedWriteConflictException',
  'TransactionConflictException',
  'TransactionInProgressException',
];

/** The service was not reached, or not heard to its end: names and codes of errors of a connection. */
export const CONNECTION_NAMES: readonly string[] = [
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'NetworkingError',
  'TimeoutError',
  'UND_ERR_SOCKET',
];
