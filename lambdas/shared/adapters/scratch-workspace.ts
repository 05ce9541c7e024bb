import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFile, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';

import type { UploadGrant } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { storageError } from '#core/storage-error';
import type { Workspace } from '#ports/workspace';

import { openScratchFolder } from './scratch-folder.ts';
import { answered, unavailable } from './scratch-http.ts';

/** What `readUrl` holds in memory at most. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
const SYNCHRONOUS_BYTES = 1024 * 1024;
const writeLarge = promisify(writeFile);

type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A shorter way to the content behind some URLs than HTTP, for a host whose own store has signed them. */
export interface ShortWay {
  isFor(url: string): boolean;
  open(url: string): Promise<Content>;
  send(grant: UploadGrant, key: string, body: Uint8Array): Promise<void>;
}

/** Scratch folders below `parent`, and transfers over HTTP without any proxy. */
export function createScratchWorkspace(parent: string, shortWay?: ShortWay): Workspace {
  const contentOf = async (url: string): Promise<Content> =>
    shortWay?.isFor(url) === true ? await shortWay.open(url) : await answered(url, { method: 'GET' });
  return {
    open: async () => await openScratchFolder(parent),
    download: async (url, file, sha256) => {
      await download(await contentOf(url), { url, file, sha256 });
    },
    readUrl: async (url) => await readText(await contentOf(url), url),
    upload: async (grant, key, body) => {
      const content = Buffer.from(body, 'utf8');
      if (shortWay?.isFor(grant.url) === true) await shortWay.send(grant, key, content);
      else await post(grant, key, content);
    },
  };
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

async function readText(content: Content, url: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of content) {
      bytes += part.byteLength;
      if (bytes > MAX_TEXT_BYTES) break;
      parts.push(part);
    }
  } catch (error) {
    throw unavailable(url, error);
  }
  if (bytes <= MAX_TEXT_BYTES) return new TextDecoder().decode(Buffer.concat(parts));
  const message = `what was to be read as text has more than ${String(MAX_TEXT_BYTES)} bytes, which is the most allowed`;
  throw new ExamHallError('PayloadInvalidError', message);
}

async function post(grant: UploadGrant, key: string, content: Buffer): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries(grant.fields)) form.append(name, value);
  form.append('key', key);
  form.append('file', new Blob([new Uint8Array(content)]), 'file');
  const encoded = new Response(form);
  const body = new Uint8Array(await encoded.arrayBuffer());
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
  const response = await answered(grant.url, { method: 'POST', headers, body });
  response.resume();
}

/** The file system says what it was doing; the network does not. */
function isOfDisk(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && ['open', 'write', 'close'].includes(String(error.syscall));
}
