import { ExamHallError } from './errors.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * An opaque cursor: base64url of the query it belongs to and the last key it has seen.
 * It is bound to its query, not secret and not signed; it can only ever continue inside that query.
 */
export function encodeCursor(query: readonly unknown[], lastKey: string): string {
  return toBase64Url(new TextEncoder().encode(JSON.stringify([1, ...query, lastKey])));
}

/**
 * The last key a cursor has seen.
 * @throws InvalidRequestError when it is no cursor of ours or belongs to another query.
 */
export function decodeCursor(query: readonly unknown[], cursor: string): string {
  const parts = parse(cursor);
  const lastKey = parts.at(-1);
  if (typeof lastKey !== 'string' || lastKey === '') throw misuse(cursor, 'it is damaged');
  if (JSON.stringify(parts.slice(0, -1)) !== JSON.stringify([1, ...query])) {
    throw misuse(cursor, 'it belongs to another query');
  }
  return lastKey;
}

function parse(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(fromBase64Url(cursor)));
    if (Array.isArray(value)) return value;
  } catch {
    throw misuse(cursor, 'it is damaged');
  }
  throw misuse(cursor, 'it is damaged');
}

function misuse(cursor: string, why: string): ExamHallError {
  const shown = cursor.length > 80 ? `${cursor.slice(0, 80)}...` : cursor;
  const message = `the cursor "${shown}" cannot be used: ${why}; pass a cursor back unchanged with the query that gave it, or leave it out to start again`;
  return new ExamHallError('InvalidRequestError', message, { cursor: shown });
}

function toBase64Url(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const group = bytes.subarray(at, at + 3);
    const bits = ((group[0] ?? 0) << 16) | ((group[1] ?? 0) << 8) | (group[2] ?? 0);
    for (let sextet = 0; sextet <= group.length; sextet += 1) {
      text += ALPHABET.charAt((bits >> (18 - 6 * sextet)) & 63);
    }
  }
  return text;
}

function fromBase64Url(text: string): Uint8Array {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const char of text) {
    const value = ALPHABET.indexOf(char);
    if (value < 0) throw new RangeError('not base64url');
    bits = ((bits << 6) | value) & 0xffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push((bits >> held) & 0xff);
    }
  }
  return Uint8Array.from(bytes);
}
