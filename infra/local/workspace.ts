import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ExamHallError } from '#core/errors';
import { storageError } from '#local/stores/storage-error';
import type { ScratchFolder, Workspace } from '#ports/workspace';

/** Scratch folders below `parent`, and transfers over HTTP. */
export function createDiskWorkspace(parent: string): Workspace {
  return {
    open: async () => {
      await mkdir(parent, { recursive: true, mode: 0o700 });
      return scratchAt(await mkdtemp(path.join(parent, 'scratch-')));
    },
    download,
    readUrl: async (url) => await (await answered(url)).text(),
    upload: async ({ url, fields }, key, body) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append('key', key);
      form.append('file', new Blob([body]), 'file');
      await answered(url, { method: 'POST', body: form });
    },
  };
}

function scratchAt(root: string): ScratchFolder {
  const inside = (parts: readonly string[]): string => {
    const full = path.resolve(root, ...parts);
    if (full.startsWith(root + path.sep)) return full;
    throw new ExamHallError(
      'UnsafePathError',
      `${JSON.stringify(parts.join('/'))} would lie outside the scratch folder`,
    );
  };
  return {
    path: root,
    fileAt: async (...parts) => {
      const file = inside(parts);
      await mkdir(path.dirname(file), { recursive: true });
      return file;
    },
    makeDir: async (...parts) => {
      const folder = inside(parts);
      await mkdir(folder, { recursive: true });
      return folder;
    },
    remove: async () => {
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function download(url: string, file: string, sha256: string | null): Promise<void> {
  const { body } = await answered(url);
  const hash = createHash('sha256');
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const source = body === null ? Readable.from([]) : Readable.fromWeb(body);
  try {
    await pipeline(source, measure, createWriteStream(file));
  } catch (error) {
    await rm(file, { force: true });
    throw isOfDisk(error) ? storageError(error, file) : unavailable(url, error);
  }
  const seen = hash.digest('hex');
  if (sha256 === null || seen === sha256) return;
  await rm(file, { force: true });
  throw new ExamHallError('ChecksumMismatchError', `a download has sha256 ${seen}; expected ${sha256}`);
}

/** Of a URL only the path is ever told: the rest of it is a signature. */
async function answered(url: string, request: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, request);
  } catch (error) {
    throw unavailable(url, error);
  }
  if (response.ok) return response;
  throw new ExamHallError('StoreUnavailableError', `${placeOf(url)} was answered ${String(response.status)}`);
}

function unavailable(url: string, error: unknown): ExamHallError {
  const { cause } = error instanceof Error ? error : {};
  const why = cause instanceof Error ? cause.message : 'the connection broke';
  return new ExamHallError('StoreUnavailableError', `${placeOf(url)} did not answer: ${why}`, {}, cause);
}

function placeOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : 'a URL that is none';
}

/** The file system says what it was doing; the network does not. */
function isOfDisk(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && ['open', 'write', 'close'].includes(String(error.syscall));
}
