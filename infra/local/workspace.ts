import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFile, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { ExamHallError } from '#core/errors';
import { RequestRefusal } from '#local/stores/request-refusal';
import type { SignedObjects } from '#local/stores/signed-objects';
import { storageError } from '#core/storage-error';
import type { ScratchFolder, Workspace } from '#ports/workspace';

const SYNCHRONOUS_BYTES = 1024 * 1024;
const writeLarge = promisify(writeFile);

/** Scratch folders below `parent`, and transfers: straight from `own` where it signed them, else over HTTP. */
export function createDiskWorkspace(parent: string, own?: SignedObjects): Workspace {
  return {
    open: async () => {
      await mkdir(parent, { recursive: true, mode: 0o700 });
      return scratchAt(await mkdtemp(path.join(parent, 'scratch-')));
    },
    download: async (url, file, sha256) => {
      await download(await contentOf(url, own), { url, file, sha256 });
    },
    readUrl: async (url) => {
      const parts: Uint8Array[] = [];
      for await (const part of await contentOf(url, own)) parts.push(part);
      return new TextDecoder().decode(Buffer.concat(parts));
    },
    upload: async (grant, key, body) => {
      const { url, fields } = grant;
      if (own?.isOwn(url) === true) {
        await refusable(url, async () => {
          await own.receive(grant, key, Buffer.from(body));
        });
        return;
      }
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

type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

async function contentOf(url: string, own: SignedObjects | undefined): Promise<Content> {
  if (own?.isOwn(url) === true) {
    const object = await refusable(url, async () => await own.open(url));
    const small = object.readSmall();
    return small === undefined ? object.read() : [small];
  }
  const { body } = await answered(url);
  return body === null ? [] : (Readable.fromWeb(body) as AsyncIterable<Uint8Array>);
}

/** What the store would have answered over HTTP, as that answer. */
async function refusable<R>(url: string, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof RequestRefusal ? answeredBadly(url, error.status) : error;
  }
}

async function download(
  content: Content,
  { url, file, sha256 }: { readonly url: string; readonly file: string; readonly sha256: string | null },
): Promise<void> {
  const hash = createHash('sha256');
  try {
    const target = openSync(file, 'w');
    try {
      for await (const part of content) {
        hash.update(part);
        // Files of a task are small and go to the system's cache; a trip through the thread pool takes longer.
        if (part.byteLength <= SYNCHRONOUS_BYTES) writeFileSync(target, part);
        else await writeLarge(target, part);
      }
    } finally {
      closeSync(target);
    }
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
  throw answeredBadly(url, response.status);
}

function answeredBadly(url: string, status: number): ExamHallError {
  return new ExamHallError('StoreUnavailableError', `${placeOf(url)} was answered ${String(status)}`);
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
