import { compareUtf8 } from './utf8.ts';

/** One thing of a task folder: `value` is the hash of its content, or where a link points. `loaded` is what a module returned. */
export interface RevisionRecord {
  /** Relative to the folder, `/`-separated. */
  readonly path: string;
  readonly kind: 'file' | 'executable' | 'symlink' | 'module' | 'loaded';
  readonly value: string;
}

const HEADER = 'examhall-revision 1';
const CACHES = ['.cache', '.git', '.mypy_cache', '.pytest_cache', '.venv', '__pycache__', 'node_modules'];
const CACHE_FILES = /^(\.DS_Store|Thumbs\.db|.*\.pyc)$/;

/**
 * The text whose SHA-256 is a revision: a versioned header, then one line per record in order of path.
 * No two sets of records have the same text.
 */
export function revisionText(records: readonly RevisionRecord[]): string {
  const lines = records
    .toSorted((a, b) => compareUtf8(a.path, b.path) || compareUtf8(a.kind, b.kind))
    .map(({ path, kind, value }) => JSON.stringify([path, kind, value]));
  return [HEADER, ...lines, ''].join('\n');
}

/** True for what tools leave in a folder; it is neither hashed nor published. */
export function isCachePath(path: string): boolean {
  const parts = path.split('/');
  return parts.some((part) => CACHES.includes(part)) || CACHE_FILES.test(parts.at(-1) ?? '');
}
