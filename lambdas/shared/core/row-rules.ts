import { ExamHallError } from './errors.ts';
import { decodeCursor, encodeCursor } from './page-cursor.ts';
import { encodeBody } from './row-body.ts';
import { isWellFormed, utf8Bytes } from './utf8.ts';

/** DynamoDB's limits, which every unit store keeps. */
export const ROW_LIMITS = {
  pkBytes: 2_048,
  skBytes: 1_024,
  /** Keys, body as JSON and 128 bytes for attribute names, version and write id. */
  rowBytes: 400 * 1_024,
  writesPerCall: 100,
  bytesPerCall: 4 * 1_024 * 1_024,
  pageRows: 1_000,
  defaultPageRows: 100,
  /** A page ends with the row that passes this. */
  pageBytes: 1_024 * 1_024,
} as const;

const ROW_OVERHEAD_BYTES = 128;

/** A stored row: keys, a version for optimistic concurrency, and a JSON body without undefined values. */
export interface Row {
  readonly pk: string;
  readonly sk: string;
  /** 1 on first write, one more on every later one; a row that was removed starts at 1 again. */
  readonly version: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RowKey {
  readonly pk: string;
  readonly sk: string;
}

/** What must be true of the row before the write: it is absent, it has this version, it exists, or nothing is asked. */
export type RowCondition = 'absent' | 'exists' | 'any' | { readonly version: number };

export type RowWrite =
  | { readonly put: RowKey & { readonly body: Readonly<Record<string, unknown>> }; readonly when: RowCondition }
  | { readonly remove: RowKey; readonly when: RowCondition }
  | { readonly check: RowKey; readonly when: Exclude<RowCondition, 'any'> };

export interface RowQuery {
  readonly pk: string;
  readonly skPrefix?: string;
  /** Exclusive lower bound inside the partition, in either direction. */
  readonly after?: string;
  /** 1 to 1,000; default 100. */
  readonly limit?: number;
  readonly cursor?: string;
  readonly descending?: boolean;
}

export interface RowPage {
  readonly rows: readonly Row[];
  /** Present when there may be more. Opaque; valid for the same query only, at any limit. */
  readonly cursor?: string;
}

/** A write that has passed every check. `json` is the body of a put and null for the others. */
export interface PreparedWrite {
  readonly kind: 'put' | 'remove' | 'check';
  readonly key: RowKey;
  readonly when: RowCondition;
  readonly json: string | null;
}

/** A query that has passed every check. Empty texts mean "not asked"; `resumeAfter` is the last key the cursor has seen. */
export interface PreparedQuery {
  readonly pk: string;
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
  readonly descending: boolean;
  readonly resumeAfter: string | null;
}

/**
 * Checks a call's writes and turns bodies into JSON.
 * @throws PayloadInvalidError, RowTooLargeError
 */
export function prepareWrites(writes: readonly RowWrite[]): readonly PreparedWrite[] {
  if (writes.length < 1 || writes.length > ROW_LIMITS.writesPerCall) {
    throw invalid(`a call holds ${writes.length} writes; 1 to ${ROW_LIMITS.writesPerCall} are allowed: split it`);
  }
  const seen = new Set<string>();
  let bytes = 0;
  const prepared = writes.map((write) => {
    const ready = prepareWrite(write);
    const name = JSON.stringify([ready.key.pk, ready.key.sk]);
    if (seen.has(name)) throw invalid(`two writes of one call are on ${describeKey(ready.key)}; merge them`);
    seen.add(name);
    bytes += rowBytes(ready.key, ready.json ?? '');
    return ready;
  });
  if (bytes > ROW_LIMITS.bytesPerCall) {
    const message = `a call holds ${bytes} bytes of rows; ${ROW_LIMITS.bytesPerCall} are allowed: split it, or keep large content in the artefact store`;
    throw new ExamHallError('RowTooLargeError', message, { bytes, allowed: ROW_LIMITS.bytesPerCall });
  }
  return prepared;
}

function prepareWrite(write: RowWrite): PreparedWrite {
  if ('put' in write) {
    const key = checkKey(write.put);
    const json = encodeBody(write.put.body, describeKey(key));
    const bytes = rowBytes(key, json);
    if (bytes > ROW_LIMITS.rowBytes) {
      const message = `the row ${describeKey(key)} holds ${bytes} bytes; ${ROW_LIMITS.rowBytes} are allowed: keep large content in the artefact store`;
      throw new ExamHallError('RowTooLargeError', message, { key, bytes, allowed: ROW_LIMITS.rowBytes });
    }
    return { kind: 'put', key, when: checkCondition(key, write.when), json };
  }
  const kind = 'remove' in write ? 'remove' : 'check';
  const key = checkKey('remove' in write ? write.remove : write.check);
  const when: RowCondition = checkCondition(key, write.when);
  if (kind === 'check' && when === 'any') throw invalid(`the check of ${describeKey(key)} asks nothing; leave it out`);
  return { kind, key, when, json: null };
}

/** Checks a key and strips everything else from it. @throws PayloadInvalidError */
export function checkKey(key: RowKey): RowKey {
  checkKeyPart('pk', key.pk, ROW_LIMITS.pkBytes);
  checkKeyPart('sk', key.sk, ROW_LIMITS.skBytes);
  return { pk: key.pk, sk: key.sk };
}

/** Checks a query and opens its cursor. @throws PayloadInvalidError, InvalidRequestError */
export function prepareQuery(query: RowQuery): PreparedQuery {
  const { pk, skPrefix: prefix = '', after = '', limit = ROW_LIMITS.defaultPageRows, descending = false } = query;
  checkKeyPart('pk', pk, ROW_LIMITS.pkBytes);
  if (prefix !== '') checkKeyPart('skPrefix', prefix, ROW_LIMITS.skBytes);
  if (after !== '') checkKeyPart('after', after, ROW_LIMITS.skBytes);
  if (!Number.isInteger(limit) || limit < 1 || limit > ROW_LIMITS.pageRows) {
    const message = `the page limit is ${limit}; whole numbers from 1 to ${ROW_LIMITS.pageRows} are allowed`;
    throw new ExamHallError('InvalidRequestError', message, { limit });
  }
  const asked = { pk, prefix, after, limit, descending };
  return { ...asked, resumeAfter: query.cursor === undefined ? null : decodeCursor(bound(asked), query.cursor) };
}

/** The cursor that continues a query behind a row; another limit may go with it. */
export function cursorBehind(query: Omit<PreparedQuery, 'resumeAfter'>, lastSk: string): string {
  return encodeCursor(bound(query), lastSk);
}

/** Whether a row of this version (undefined: no row) meets a condition. */
export function conditionHolds(when: RowCondition, version: number | undefined): boolean {
  if (when === 'any') return true;
  if (when === 'absent') return version === undefined;
  return when === 'exists' ? version !== undefined : version === when.version;
}

/** The error for a write whose condition does not hold. */
export function conditionFailed(write: PreparedWrite, row: Row | null, cause?: unknown): ExamHallError {
  const wanted = typeof write.when === 'string' ? write.when : `version ${write.when.version}`;
  const found = row === null ? 'absent' : `version ${row.version}`;
  const message = `the ${write.kind} of ${describeKey(write.key)} wants the row ${wanted}, and it is ${found}; nothing was written: read again and decide anew`;
  return new ExamHallError('ConditionFailedError', message, { key: write.key, row, when: write.when }, cause);
}

/** Bytes a row counts for, keys and overhead included. */
export function rowBytes(key: RowKey, json: string): number {
  return utf8Bytes(key.pk) + utf8Bytes(key.sk) + utf8Bytes(json) + ROW_OVERHEAD_BYTES;
}

function checkKeyPart(name: string, value: string, maxBytes: number): void {
  const bytes = utf8Bytes(value);
  if (bytes < 1 || bytes > maxBytes || !isWellFormed(value)) {
    const shown = JSON.stringify(value).slice(0, 120);
    throw invalid(`${name} is ${shown} (${bytes} bytes); 1 to ${maxBytes} bytes of well-formed text are allowed`);
  }
}

function checkCondition(key: RowKey, when: RowCondition): RowCondition {
  if (typeof when === 'string' || (Number.isSafeInteger(when.version) && when.version > 0)) return when;
  throw invalid(
    `the condition on ${describeKey(key)} asks for version ${when.version}; whole numbers from 1 are allowed`,
  );
}

function bound(query: Omit<PreparedQuery, 'resumeAfter' | 'limit'>): readonly unknown[] {
  return [query.pk, query.prefix, query.after, query.descending];
}

function describeKey(key: RowKey): string {
  return `${JSON.stringify(key.pk)} / ${JSON.stringify(key.sk)}`;
}

function invalid(message: string, details: Readonly<Record<string, unknown>> = {}): ExamHallError {
  return new ExamHallError('PayloadInvalidError', message, details);
}
