import { ExamHallError } from './errors.ts';
import { decodeCursor, encodeCursor } from './page-cursor.ts';
import { isWellFormed, utf8Bytes } from './utf8.ts';

/** S3's limits, which every artefact store keeps. */
export const OBJECT_LIMITS = {
  keyBytes: 1_024,
  /** What one whole write may hold. */
  objectBytes: 5 * 1_024 ** 3,
  pageObjects: 1_000,
  signSeconds: 7 * 24 * 3_600,
} as const;

/** Inclusive byte offsets. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** What one upload may hold. */
export interface CheckedLimit {
  readonly maxBytes: number;
  readonly sha256?: string;
}

/** A listing that has passed every check; `after` is the last key its cursor has seen. */
export interface PreparedListing {
  readonly prefix: string;
  readonly limit: number;
  readonly after: string | null;
}

/**
 * S3's rule for keys: 1 to 1,024 bytes of well-formed text in which, read from the left, `..` between slashes never
 * outnumbers the other parts.
 * @throws PayloadInvalidError
 */
export function checkObjectKey(key: string): void {
  const bytes = utf8Bytes(key);
  const shown = JSON.stringify(key).slice(0, 120);
  if (bytes < 1 || bytes > OBJECT_LIMITS.keyBytes || !isWellFormed(key)) {
    throw invalid(
      `the object key ${shown} has ${bytes} bytes; 1 to ${OBJECT_LIMITS.keyBytes} of well-formed text are allowed`,
    );
  }
  let depth = 0;
  for (const part of key.split('/')) {
    depth += part === '..' ? -1 : 1;
    if (depth < 0) throw invalid(`the object key ${shown} climbs out of its bucket with ".."; S3 refuses such keys`);
  }
}

/** @throws PayloadInvalidError when one whole write cannot hold so much. */
export function checkObjectSize(key: string, bytes: number): void {
  if (bytes <= OBJECT_LIMITS.objectBytes) return;
  throw invalid(
    `the object ${JSON.stringify(key)} has ${bytes} bytes or more; ${OBJECT_LIMITS.objectBytes} are allowed: split it`,
  );
}

/** @throws PayloadInvalidError unless it is a whole number of seconds up to seven days. */
export function checkExpiry(seconds: number): void {
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= OBJECT_LIMITS.signSeconds) return;
  throw invalid(`a signature for ${seconds} seconds was asked; 1 to ${OBJECT_LIMITS.signSeconds} are allowed`);
}

/** What forms replace in a key by the name of the posted file. */
export const FILENAME_VARIABLE = '${filename}';

/** Checks the terms of an upload grant, and gives its limit in full. @throws PayloadInvalidError */
export function checkUploadTerms(
  keyPrefix: string,
  expiresInSeconds: number,
  limit: number | CheckedLimit,
): CheckedLimit {
  checkObjectKey(keyPrefix);
  checkExpiry(expiresInSeconds);
  const checked = typeof limit === 'number' ? { maxBytes: limit } : limit;
  const { maxBytes, sha256 } = checked;
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/u.test(sha256)) {
    throw invalid(`an upload of sha256 ${JSON.stringify(sha256)} was asked; 64 lower-case hex digits are allowed`);
  }
  if (sha256 !== undefined && keyPrefix.includes(FILENAME_VARIABLE)) {
    throw invalid(
      `an upload to the one key ${JSON.stringify(keyPrefix)} was asked; forms replace ${FILENAME_VARIABLE}, so give it another name`,
    );
  }
  if (Number.isSafeInteger(maxBytes) && maxBytes >= 0 && maxBytes <= OBJECT_LIMITS.objectBytes) return checked;
  throw invalid(`uploads of ${maxBytes} bytes were asked; 0 to ${OBJECT_LIMITS.objectBytes} are allowed`);
}

/** Checks a listing and opens its cursor. @throws PayloadInvalidError, InvalidRequestError */
export function prepareListing(
  bucket: string,
  prefix: string,
  page: { readonly cursor?: string; readonly limit?: number } = {},
): PreparedListing {
  if (prefix !== '') checkObjectKey(prefix);
  const { limit = OBJECT_LIMITS.pageObjects, cursor } = page;
  if (!Number.isInteger(limit) || limit < 1 || limit > OBJECT_LIMITS.pageObjects) {
    const message = `the page limit is ${limit}; whole numbers from 1 to ${OBJECT_LIMITS.pageObjects} are allowed`;
    throw new ExamHallError('InvalidRequestError', message, { limit });
  }
  return { prefix, limit, after: cursor === undefined ? null : decodeCursor([bucket, prefix], cursor) };
}

/** The cursor that continues a listing behind a key. */
export function listingCursor(bucket: string, prefix: string, lastKey: string): string {
  return encodeCursor([bucket, prefix], lastKey);
}

/**
 * The part of a range that an object of this size has.
 * @throws InvalidRequestError when it has none of it, or the range is no range.
 */
export function clampRange(key: string, range: ByteRange, sizeBytes: number): ByteRange {
  const { start, end } = range;
  const isRange = Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start;
  if (isRange && start < sizeBytes) return { start, end: Math.min(end, sizeBytes - 1) };
  const message = `bytes ${start}-${end} of ${JSON.stringify(key)} were asked, and it has ${sizeBytes} bytes`;
  throw new ExamHallError('InvalidRequestError', message, { key, start, end, sizeBytes });
}

function invalid(message: string): ExamHallError {
  return new ExamHallError('PayloadInvalidError', message);
}
