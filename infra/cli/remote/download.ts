import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { lstat, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { isLoopback, send, transportError } from './http-exchange.ts';
import { plainText } from './plain-text.ts';
import { RemoteError } from './remote-error.ts';

/** A file behind a short-lived link, and what its bytes must be. */
export interface LinkedFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly url: string;
}

export interface DownloadOptions {
  readonly timeoutSeconds: number;
  /** Links of plain http are followed only where the API itself is on this computer. */
  readonly allowsLoopback: boolean;
}

/** Where a file comes to lie, and where until it is whole; both on one disk. */
export interface Places {
  readonly target: string;
  readonly part: string;
}

/** Bytes that are not those of the record; nothing of them was kept. */
export class WrongBytesError extends RemoteError {}

/** What a link that no longer holds answers with. */
export class LinkExpiredError extends RemoteError {}

/**
 * Brings a file to a place, going on where an earlier download was broken off. What is there already and right is left
 * alone. The file appears under its name only when its size and hash are right.
 * @returns bytes that were sent for it.
 * @throws RemoteError, LinkExpiredError, WrongBytesError
 */
export async function download(file: LinkedFile, { target, part }: Places, options: DownloadOptions): Promise<number> {
  if (await isThere(file, target)) return 0;
  const before = await sizeOf(part);
  const from = before !== null && before < file.sizeBytes ? before : 0;
  const received = await receive(file, part, { ...options, from }).catch(async (error: unknown) => {
    if (error instanceof WrongBytesError) await rm(part, { force: true });
    throw error;
  });
  if (await isThere(file, part)) {
    await rename(part, target);
    return received;
  }
  await rm(part, { force: true });
  // What was there before was of something else; once more from the beginning.
  if (from > 0) return received + (await download(file, { target, part }, options));
  throw new WrongBytesError(
    'host',
    `${plainText(file.path)} came with other bytes than its record says (sha256 ${file.sha256}, ${String(file.sizeBytes)} bytes); it was not kept. Fetch it again, and ask who keeps the stage if it stays so`,
  );
}

/** Reads a file of text behind a link from a byte on; null when there is nothing from there. @throws RemoteError */
export async function readLinkedText(
  url: string,
  from: number,
  most: number,
  options: DownloadOptions,
): Promise<Buffer | null> {
  const response = await openLink(url, from, options);
  if (response.statusCode === 416) {
    response.destroy();
    return null;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  let skip = response.statusCode === 206 ? 0 : from;
  try {
    for await (const whole of response as AsyncIterable<Buffer>) {
      const chunk = whole.subarray(Math.min(skip, whole.length));
      skip -= whole.length - chunk.length;
      size += chunk.length;
      if (size > most) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw transportError({ url: new URL(url), timeoutSeconds: options.timeoutSeconds }, error);
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks);
}

async function receive(
  file: LinkedFile,
  part: string,
  options: DownloadOptions & { readonly from: number },
): Promise<number> {
  const response = await openLink(file.url, options.from, options);
  const resumes = response.statusCode === 206 && options.from > 0;
  // No link is followed: an earlier run of somebody else may have left one in its place.
  const flags =
    constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | (resumes ? constants.O_APPEND : constants.O_TRUNC);
  const handle = await open(part, flags, 0o644).catch((error: unknown) => {
    response.destroy();
    throw error;
  });
  try {
    return await writeAll(response as AsyncIterable<Buffer>, handle, {
      file,
      left: file.sizeBytes - (resumes ? options.from : 0),
    });
  } catch (error) {
    throw isOfDisk(error)
      ? error
      : transportError({ url: new URL(file.url), timeoutSeconds: options.timeoutSeconds }, error);
  } finally {
    response.destroy();
    await handle.close();
  }
}

async function writeAll(
  chunks: AsyncIterable<Buffer>,
  handle: FileHandle,
  { file, left: expected }: { readonly file: LinkedFile; readonly left: number },
): Promise<number> {
  let left = expected;
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (left < 0)
      throw new WrongBytesError(
        'host',
        `${plainText(file.path)} is longer than the ${String(file.sizeBytes)} bytes its record says; it was not kept`,
      );
    await handle.writeFile(chunk);
  }
  return expected - left;
}

async function openLink(text: string, from: number, { timeoutSeconds, allowsLoopback }: DownloadOptions) {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isUsable =
    url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && allowsLoopback && isLoopback(url)));
  if (!isUsable)
    throw new RemoteError(
      'host',
      `the host gives a link that is not followed: ${JSON.stringify(plainText(text, 100))}; allowed: https, or http from a host on this computer`,
    );
  // No proof of who we are goes along: the link alone opens the file.
  const headers: Record<string, string> = {
    'user-agent': 'examhall',
    ...(from > 0 ? { range: `bytes=${String(from)}-` } : {}),
  };
  const response = await send({ method: 'GET', url, headers, timeoutSeconds });
  const status = response.statusCode ?? 0;
  if (status === 200 || status === 206 || (status === 416 && from > 0)) return response;
  response.destroy();
  if (status === 403 || status === 400 || status === 401)
    throw new LinkExpiredError('host', `the link of a file no longer holds (${String(status)} from ${url.host})`, {
      status,
    });
  if (status >= 500 || status === 429)
    throw new RemoteError('unreachable', `${url.host} does not give a file now (${String(status)})`, { status });
  throw new RemoteError('host', `${url.host} answered ${String(status)} for a file of a record`, { status });
}

/** A regular file of the right size and hash. */
async function isThere({ sizeBytes, sha256 }: LinkedFile, target: string): Promise<boolean> {
  const size = await sizeOf(target);
  if (size !== sizeBytes) return false;
  const hash = createHash('sha256');
  await pipeline(createReadStream(target), hash);
  return hash.digest('hex') === sha256;
}

async function sizeOf(file: string): Promise<number | null> {
  const found = await lstat(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (found === null || found.isFile()) return found?.size ?? null;
  throw new RemoteError(
    'request',
    `${file} is no regular file; nothing is written through it. Move it away, or fetch into another folder`,
  );
}

function isOfDisk(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG', 'EIO', 'EACCES'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
