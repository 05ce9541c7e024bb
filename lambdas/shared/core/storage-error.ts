import { ExamHallError } from './errors.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);
const READ_ONLY = new Set(['EROFS', 'EACCES', 'EPERM', 'SQLITE_PERM', 'SQLITE_CANTOPEN', 'SQLITE_READONLY']);

/** What a failed file or database operation means for the pipeline: full, not writable, or unavailable. Ours stay as they are. */
export function storageError(error: unknown, path: string): ExamHallError {
  if (error instanceof ExamHallError) return error;
  const code = storageCode(error);
  const family = code.startsWith('SQLITE_') ? code.split('_').slice(0, 2).join('_') : code;
  const details = { path, code };
  if (FULL.has(family)) {
    const message = `no space is left to write ${path} (${code}); free space on its disk or name another folder, and run again`;
    return new ExamHallError('StorageFullError', message, details, error);
  }
  if (READ_ONLY.has(family)) {
    const message = `${path} cannot be written (${code}); make its folder writable for this user or name another folder`;
    return new ExamHallError('StorageReadOnlyError', message, details, error);
  }
  const seen = error instanceof Error ? error.message : String(error);
  const advice = family === 'SQLITE_BUSY' ? 'another process holds it: stop that one or try again' : 'check the disk';
  return new ExamHallError('StoreUnavailableError', `cannot use ${path}: ${seen}; ${advice}`, details, error);
}

/** The system's or the database's word for it, `unknown` without one. */
export function storageCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  // libsql gives no code for a file it cannot open, only SQLite's number at the end of the text.
  return error.message.includes('ConnectionFailed') ? 'SQLITE_CANTOPEN' : 'unknown';
}
