import { utf8Bytes } from './utf8.ts';

/** What any disk takes of one name, and of a path below a folder that has a path of its own. */
const MOST_NAME_BYTES = 200;
const MOST_PATH_BYTES = 640;

/** Bytes that were no UTF-8, control characters, and marks that turn the direction of what follows. */
const MISLEADING = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufffd]/u;

/**
 * True for a collected path that is told apart from every other by its text and that any disk can hold. Other files are
 * known by their keys alone.
 */
export function isPlainPath(path: string): boolean {
  return (
    utf8Bytes(path) <= MOST_PATH_BYTES &&
    !MISLEADING.test(path) &&
    path.split('/').every((name) => name !== '' && name !== '.' && name !== '..' && utf8Bytes(name) <= MOST_NAME_BYTES)
  );
}

/**
 * Name of a collected file in the run folder: its own, or the escaped one of its key, which alone has `%`. A backslash
 * separates folders on some disks.
 */
export function keptName(path: string, escaped: string): string {
  return isPlainPath(path) && !/[%\\]/u.test(path) ? path : escaped;
}
