import { ExamHallError } from '#core/errors';
import { CONFLICT_NAMES, CONNECTION_NAMES, SERVICE_FAULT_NAMES, THROTTLING_NAMES } from '#core/service-faults';
import type { ObjectRef } from '#ports/artifact-store';

import { isPassingFault } from './retry-policy.ts';

const TRANSIENT_NAMES: ReadonlySet<string> = new Set([
  ...CONFLICT_NAMES,
  ...CONNECTION_NAMES,
  ...SERVICE_FAULT_NAMES,
  ...THROTTLING_NAMES,
  'IncompleteBody',
  'RequestTimeout',
]);
const TRANSIENT_STATUS = new Set([429, 500, 502, 503, 504]);
const ABSENT_NAMES = new Set(['NoSuchKey', 'NotFound']);
/** What an answer of 403 is called; one to HEAD has no code of its own. */
const DENIED_NAMES = new Set(['AccessDenied', 'Forbidden', '403', 'Unknown', 'UnknownError']);
const CHECKSUM_NAMES = new Set(['BadDigest', 'XAmzContentChecksumMismatch', 'XAmzContentSHA256Mismatch']);

/** Whether S3 may answer otherwise when asked again: throttled, in conflict, broken off. */
export function isTransientS3Error(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isPassingFault(error) || TRANSIENT_NAMES.has(error.name)) return true;
  const status = statusOf(error);
  return status !== null && TRANSIENT_STATUS.has(status);
}

/** The object is not there. A bucket that is not there answers HEAD in the same way. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && ABSENT_NAMES.has(error.name);
}

/** A condition of the request did not hold. */
export function isPreconditionFailed(error: unknown): boolean {
  return error instanceof Error && (error.name === 'PreconditionFailed' || statusOf(error) === 412);
}

export function isForbidden(error: unknown): boolean {
  return statusOf(error) === 403;
}

export function isS3ErrorNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}

/** More than one request went out, so that an earlier one may have done its work and lost its answer. */
export function wasRepeated(error: unknown): boolean {
  const attempts = metadataOf(error)?.['attempts'];
  return typeof attempts === 'number' && attempts > 1;
}

/** S3's answer by our names where they have one, a refusal with what may be the cause; anything else stays as it is. */
export function translateS3Error(error: unknown, ref: ObjectRef): unknown {
  if (error instanceof ExamHallError || !(error instanceof Error)) return error;
  if (isAbsent(error)) return absent(ref, error);
  if (isForbidden(error) && DENIED_NAMES.has(error.name)) return denied(ref, error);
  if (CHECKSUM_NAMES.has(error.name)) {
    const message = `the content of ${JSON.stringify(ref.key)} did not arrive as it was sent; S3 says ${error.name}`;
    return new ExamHallError('ChecksumMismatchError', message, { ...ref }, error);
  }
  return error;
}

export function absent(ref: ObjectRef, cause?: unknown): ExamHallError {
  const message = `there is no object ${JSON.stringify(ref.key)} in bucket ${ref.bucket}`;
  return new ExamHallError('ObjectNotFoundError', message, { bucket: ref.bucket, key: ref.key }, cause);
}

/** Keeps the answer's metadata. S3 also refuses to tell of a missing object, to who may not list its bucket. */
function denied(ref: ObjectRef, cause: Error): Error {
  const where = `${JSON.stringify(ref.key)} of bucket ${ref.bucket}`;
  const rights = 'the role lacks the right to the object or to the key that encrypts it';
  const message = `S3 refused ${where} (403 ${cause.name}): ${rights}, or there is no such object and the role lacks s3:ListBucket on the bucket without a prefix`;
  return Object.assign(new Error(message, { cause }), { name: 'AccessDenied', $metadata: metadataOf(cause) });
}

export function exists(ref: ObjectRef): ExamHallError {
  const message = `there is an object ${JSON.stringify(ref.key)} in bucket ${ref.bucket} already; it is left as it is`;
  return new ExamHallError('ObjectExistsError', message, { bucket: ref.bucket, key: ref.key });
}

export function mismatch(ref: ObjectRef, wanted: string, found: string): ExamHallError {
  const message = `the content for ${JSON.stringify(ref.key)} has sha256 ${found}; expected ${wanted}`;
  return new ExamHallError('ChecksumMismatchError', message, { key: ref.key, expected: wanted, found });
}

export function unavailable(ref: ObjectRef, tries: number, error: unknown): ExamHallError {
  const seen = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const where = `bucket ${ref.bucket} did not take the call for ${JSON.stringify(ref.key)}`;
  const message = `${where} in ${String(tries)} tries; the last answer was ${seen}; try again later`;
  return new ExamHallError('StoreUnavailableError', message, { bucket: ref.bucket, key: ref.key, tries }, error);
}

function metadataOf(error: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined;
  const { $metadata: metadata } = error;
  return typeof metadata === 'object' && metadata !== null ? { ...metadata } : undefined;
}

function statusOf(error: unknown): number | null {
  const status = metadataOf(error)?.['httpStatusCode'];
  return typeof status === 'number' ? status : null;
}
