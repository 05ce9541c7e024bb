import type { RequestProblem } from './api-refusal.ts';
import type { PublishedFile } from './catalog.ts';
import { isPlainPath } from './collected-names.ts';
import { FILENAME_VARIABLE, OBJECT_LIMITS } from './object-rules.ts';
import type { RevisionRecord } from './task-revision.ts';
import { utf8Bytes } from './utf8.ts';

/** A file that a publisher says belongs to a revision. */
export interface OfferedFile {
  /** Place in the request's body. */
  readonly place: string;
  readonly bucket: 'tasks' | 'references';
  /** Below which it lies, with a trailing slash; what may be uploaded is bounded by it. */
  readonly keyPrefix: string;
  /** Where it must lie below the prefix. */
  readonly suffix: string;
  readonly file: PublishedFile;
  /** What it must be called, and no program; null where the folder's files say both. */
  readonly name: string | null;
  /** How it counts in the revision. */
  readonly record: RevisionRecord;
}

/** Most problems of an offer that are told. */
export const PROBLEMS_SHOWN = 100;

export const OFFER_LIMITS = {
  files: 5_000,
  /** One upload by form cannot hold more. */
  fileBytes: OBJECT_LIMITS.objectBytes,
  totalBytes: 200 * 1_024 ** 3,
  /** Compiled code is loaded whole. */
  moduleBytes: 32 * 1_024 ** 2,
} as const;

/** Problems of each file by itself, and of all of them together. */
export function fileProblems(files: readonly OfferedFile[]): readonly RequestProblem[] {
  const problems = files.flatMap((offered) => problemsOf(offered));
  const seen = new Map<string, OfferedFile>();
  for (const offered of files) {
    const name = `${offered.bucket}/${offered.file.key}`;
    const before = seen.get(name);
    seen.set(name, offered);
    if (before === undefined || before.file.sha256 === offered.file.sha256) continue;
    problems.push({ path: `${offered.place}.key`, message: `is the key of ${before.place} too, with other content` });
  }
  const totalBytes = files.reduce((sum, { file }) => sum + file.sizeBytes, 0);
  if (files.length > OFFER_LIMITS.files) problems.push(tooMuch('files', files.length, OFFER_LIMITS.files));
  if (totalBytes > OFFER_LIMITS.totalBytes)
    problems.push(tooMuch('bytes together', totalBytes, OFFER_LIMITS.totalBytes));
  return problems;
}

function tooMuch(what: string, seen: number, allowed: number): RequestProblem {
  const message = `${String(seen)} ${what} are offered; ${String(allowed)} are allowed: pack them, or split the task`;
  return { path: 'body', message };
}

function problemsOf({ place, keyPrefix, suffix, name, file, record }: OfferedFile): readonly RequestProblem[] {
  const problems: RequestProblem[] = [];
  const limit = record.kind === 'module' ? OFFER_LIMITS.moduleBytes : OFFER_LIMITS.fileBytes;
  if (!isPlainPath(file.path)) {
    const message = `${JSON.stringify(file.path.slice(0, 100))} is no plain relative path: no empty, "." or ".." part, no control character`;
    problems.push({ path: `${place}.path`, message });
  }
  if (name !== null && file.path !== name) problems.push({ path: `${place}.path`, message: `must be ${name}` });
  if (name !== null && file.executable) problems.push({ path: `${place}.executable`, message: 'must be false' });
  if (file.key !== `${keyPrefix}${suffix}`)
    problems.push({ path: `${place}.key`, message: `must be ${keyPrefix}${suffix}` });
  if (utf8Bytes(file.key) > OBJECT_LIMITS.keyBytes) {
    problems.push({ path: `${place}.key`, message: `is over ${String(OBJECT_LIMITS.keyBytes)} bytes` });
  }
  if (file.key.includes(FILENAME_VARIABLE)) {
    problems.push({
      path: `${place}.key`,
      message: `holds ${FILENAME_VARIABLE}, which upload forms replace: rename it`,
    });
  }
  if (file.sizeBytes > limit)
    problems.push({ path: `${place}.sizeBytes`, message: `is over ${String(limit)}: split it` });
  return problems;
}
